package charts

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services"
)

// storePorts maps the ports in the charts' full example to stores.
var storePorts = map[int32]string{
	3306: "mysql", 6379: "redis", 27017: "mongo", 9000: "objects", 26379: "redis", 9093: "kafka", 8083: "connect", 9200: "elasticsearch",
}

func TestEveryServiceOfTheListHasItsChartPortsAndStores(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, s := range services.List() {
		listed = append(listed, s.Name)
		admin := int32(0)
		for _, p := range service(t, s.Name).Spec.Ports {
			if slices.Contains([]string{"health", "admin", "rest"}, p.Name) {
				admin = p.Port
			}
		}
		if admin != int32(s.Admin) || grpcPort(t, s.Name) != int32(s.GRPC) {
			t.Errorf("%s: the chart has the ports %d and %d, services.yaml %d and %d", s.Name, grpcPort(t, s.Name), admin, s.GRPC, s.Admin)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(s.Stores)), stores(t, s.Name)); diff != "" {
			t.Errorf("%s: -services.yaml, +the policy's way out:\n%s", s.Name, diff)
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, names(t)); diff != "" {
		t.Errorf("-services.yaml, +charts:\n%s", diff)
	}
}

// stores returns the stores that the policy of a chart allows.
func stores(t *testing.T, name string) []string {
	t.Helper()
	found := map[string]bool{}
	for _, rule := range policy(t, name, "full").Egress {
		if len(rule.To) != 1 || rule.To[0].IPBlock == nil {
			continue
		}
		for _, p := range rule.Ports {
			found[storePorts[p.Port.IntVal]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestTheListSaysWhoCallsWhomAsTheContractsDo(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, s := range services.List() {
		for _, callee := range s.Callees {
			listed[s.Name+" → "+callee] = true
		}
		if s.Name != services.Gateway && !s.Internal {
			listed["gateway → "+s.Name] = true
		}
	}
	contracts := callers()
	maps.DeleteFunc(contracts, func(call string, direct bool) bool {
		caller, _, _ := strings.Cut(call, " → ")
		return !direct || slices.Contains(outsiders, caller)
	})
	if diff := cmp.Diff(contracts, listed); diff != "" {
		t.Errorf("-contracts, +services.yaml:\n%s", diff)
	}
}

func TestTheGatewayTheAlertsAndTheDashboardsKnowEveryService(t *testing.T) {
	t.Parallel()
	for _, s := range services.List() {
		read(t, filepath.Join(root, s.Name, "files", "dashboard.json")) // written by scripts/dashboards
		read(t, filepath.Join(root, s.Name, "files", "process-alerts.yaml"))
		if variable := "GATEWAY_" + s.Prefix + "_ADDR"; !s.Internal && s.Name != services.Gateway && !slices.Contains(printed(t, services.Gateway), variable) {
			t.Errorf("the gateway has no setting %s: see gateway/internal/app/config.go", variable)
		}
	}
}

var runbook = regexp.MustCompile(`alert: (\w+)[\s\S]*?runbook_url: (docs/runbooks/\w+\.md)#([\w-]+)`)

func TestEveryAlertHasItsPage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "*", "files", "alerts.yaml"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files of alerts: %v", len(files), err)
	}
	for _, file := range files {
		text := read(t, file)
		alerts := runbook.FindAllStringSubmatch(text, -1)
		if len(alerts) != strings.Count(text, "- alert: ") {
			t.Errorf("%s: %d alerts name a runbook, of %d", file, len(alerts), strings.Count(text, "- alert: "))
		}
		for _, a := range alerts {
			if !slices.Contains(headings(read(t, filepath.Join("../..", a[2]))), a[3]) {
				t.Errorf("%s has no section %s in %s", a[1], a[3], a[2])
			}
		}
	}
}

// headings returns the anchors of a page's sections.
func headings(page string) (anchors []string) {
	for line := range strings.Lines(page) {
		if title, is := strings.CutPrefix(line, "## "); is {
			anchors = append(anchors, strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-"))
		}
	}
	return anchors
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
