package charts

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

const handbook = "../../docs/operations.md"

// fenced returns the code blocks of a language on a page.
func fenced(t *testing.T, page, language string) (texts []string) {
	t.Helper()
	for _, part := range strings.Split(read(t, page), "```"+language+"\n")[1:] {
		text, _, _ := strings.Cut(part, "\n```")
		texts = append(texts, text)
	}
	return texts
}

// TestTheValuesOfTheHandbookInstall checks that the umbrella chart renders with each block of values in the handbook.
func TestTheValuesOfTheHandbookInstall(t *testing.T) {
	t.Parallel()
	given := blocks(t, handbook)
	if len(given) < 2 {
		t.Fatalf("%d blocks of values, want those of an install and of a private receiver", len(given))
	}
	for _, of := range given {
		list, err := render(load(t, umbrella), maps.Clone(of))
		if err != nil {
			t.Errorf("%v: got error %v, want none", slices.Collect(maps.Keys(of)), err)
			continue
		}
		if of["taskqueue"] == nil {
			continue
		}
		port := strings.Split(at(of, "taskqueue", "settings", "ALLOWED_HOSTS").(string), ":")[1]
		open := slices.ContainsFunc(object[networkingv1.NetworkPolicy](t, list, "NetworkPolicy", "taskqueue").Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return len(r.To) == 1 && r.To[0].IPBlock != nil && strings.HasPrefix(r.To[0].IPBlock.CIDR, "10.") && r.Ports[0].Port.String() == port
		})
		if !open {
			t.Errorf("the receiver's port %s is not let out", port)
		}
	}
}

// TestTheRightsOfTheHandbookAreForTheNamesOfTheCharts compares indexes, topics, groups, bucket and database in the
// handbook with the charts' defaults.
func TestTheRightsOfTheHandbookAreForTheNamesOfTheCharts(t *testing.T) {
	t.Parallel()
	rights := strings.Join(append(fenced(t, handbook, "json"), fenced(t, handbook, "js")...), "\n")
	for _, text := range fenced(t, handbook, "json") {
		if !json.Valid([]byte(text)) {
			t.Errorf("no JSON:\n%s", text)
		}
	}
	bucket := regexp.MustCompile(`^s3://([^?]+)`).FindStringSubmatch(load(t, "externaledit").Values["objectStore"].(map[string]any)["url"].(string))[1]
	database := load(t, "rerun").Values["documentStore"].(map[string]any)["database"].(string)
	for _, want := range []string{
		`"` + setting(t, "cdc", "CDC_INDEX_ALIAS") + `_*"`, `"` + setting(t, "search", "SEARCH_INDEX_ALIAS") + `"`,
		"arn:aws:s3:::" + bucket + "/*", `"arn:aws:s3:::` + bucket + `"`, `getSiblingDB("` + database + `")`,
	} {
		if !strings.Contains(rights, want) {
			t.Errorf("the rights lack %s", want)
		}
	}
	var kafka string
	for _, text := range fenced(t, handbook, "sh") {
		if strings.Contains(text, "kafka-acls") {
			kafka = text
		}
	}
	prefixes := strings.Fields(regexp.MustCompile(`for prefix in ([^;]+);`).FindStringSubmatch(kafka)[1])
	list := renderCDC(t, map[string]any{"strimzi": map[string]any{"topics": true, "connectors": true, "connect": map[string]any{"enabled": true, "image": "x"}}})
	connect := decode[struct {
		Spec struct{ GroupID, ConfigStorageTopic, OffsetStorageTopic, StatusStorageTopic string }
	}](t, list, "KafkaConnect", "lab-connect").Spec
	topics := []string{connect.ConfigStorageTopic, connect.OffsetStorageTopic, connect.StatusStorageTopic}
	for _, m := range list {
		if m.kind == "KafkaTopic" {
			topics = append(topics, decode[struct{ Spec struct{ TopicName string } }](t, []manifest{m}, m.kind, m.name).Spec.TopicName)
		}
	}
	if len(topics) < 14 {
		t.Fatalf("%d topics", len(topics))
	}
	for _, topic := range topics {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(topic, p) }) {
			t.Errorf("the topic %s begins with none of %v", topic, prefixes)
		}
	}
	for _, group := range []string{connect.GroupID, setting(t, "cdc", "CDC_CONSUMER_GROUP")} {
		if !strings.Contains(kafka, "--group "+group+" ") {
			t.Errorf("the rights lack the group %s", group)
		}
	}
}

// setting returns the value of a variable in the pods of a chart, or the program's default.
func setting(t *testing.T, name, variable string) string {
	t.Helper()
	d := object[appsv1.Deployment](t, rendered(t, name, "default"), "Deployment", name)
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		if v.Name == variable {
			return v.Value
		}
	}
	for line := range strings.Lines(read(t, "../../services/"+name+"/internal/app/testdata/print-config.txt")) {
		if fields := strings.Fields(line); fields[0] == variable && len(fields) == 2 {
			return fields[1]
		}
	}
	t.Fatalf("%s has no setting %s", name, variable)
	return ""
}
