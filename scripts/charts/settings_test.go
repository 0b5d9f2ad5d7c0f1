package charts

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/labplatform/labplatform/services"
)

// foreign are variables that are not settings of a service: those of libraries, of the Go runtime and of the cluster's
// own extraEnv.
var foreign = []string{"GOMEMLIMIT", "HTTPS_PROXY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_RESOURCE_ATTRIBUTES", "K8S_POD_NAME", "K8S_NODE_NAME"}

// printed returns the variables in a service's committed print-config.txt.
func printed(t *testing.T, name string) (variables []string) {
	t.Helper()
	folder := "../../services/" + name
	if name == services.Gateway {
		folder = "../../gateway"
	}
	for line := range strings.Lines(read(t, folder+"/internal/app/testdata/print-config.txt")) {
		variables = append(variables, strings.Fields(line)[0])
	}
	return variables
}

// prefix returns the prefix of most variables of a service.
func prefix(t *testing.T, name string) string {
	t.Helper()
	for _, v := range printed(t, name) {
		if p, ok := strings.CutSuffix(v, "DRAIN_DELAY_SECONDS"); ok {
			return p
		}
	}
	t.Fatalf("%s has no drain delay", name)
	return ""
}

// environment returns the variables of a chart's container by name.
func environment(t *testing.T, name, file string) map[string]corev1.EnvVar {
	t.Helper()
	d := object[appsv1.Deployment](t, rendered(t, name, file), "Deployment", name)
	all := map[string]corev1.EnvVar{}
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		if _, twice := all[v.Name]; twice {
			t.Errorf("%s: %s twice", name, v.Name)
		}
		all[v.Name] = v
	}
	return all
}

// secretNames returns the variables that a chart reads from Secrets, without prefix.
func secretNames(t *testing.T, name string) []string {
	t.Helper()
	c := load(t, name)
	c.Schema = nil
	list, err := render(c, map[string]any{"settings": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for _, v := range object[appsv1.Deployment](t, list, "Deployment", name).Spec.Template.Spec.Containers[0].Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			secrets = append(secrets, strings.TrimPrefix(v.Name, prefix(t, name)))
		}
	}
	return secrets
}

// Values with which a chart sets every variable of a store.
var (
	reachedBySentinels = map[string]any{"sentinels": []any{"x:1"}, "caSecret": "x", "clientCertSecret": "x"}
	certified          = map[string]any{"caSecret": "x", "clientCertSecret": "x"}
)

// free returns the variables, without prefix, that a chart allows below settings: all except secrets and variables with
// a value of their own.
func free(t *testing.T, name string) []string {
	t.Helper()
	c := load(t, name)
	c.Schema = nil
	c.Values["settings"] = map[string]any{}
	list, err := render(c, map[string]any{"tls": map[string]any{"enabled": true, "existingSecret": "x"}, "providerSecrets": "x", "sealKeys": "x",
		"cache": reachedBySentinels, "queue": reachedBySentinels, "kafka": certified, "database": certified, "documentStore": certified,
		"telemetry": map[string]any{"otlpEndpoint": "x:1"}})
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	for _, v := range object[appsv1.Deployment](t, list, "Deployment", name).Spec.Template.Spec.Containers[0].Env {
		taken[v.Name] = true
	}
	var names []string
	for _, v := range printed(t, name) {
		if !taken[v] {
			names = append(names, strings.TrimPrefix(v, prefix(t, name)))
		}
	}
	return names
}

func TestEveryVariableExistsInTheService(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		for _, file := range []string{"default", "full"} {
			for v := range environment(t, name, file) {
				if !slices.Contains(printed(t, name), v) && !slices.Contains(foreign, v) {
					t.Errorf("%s sets %s, which the service does not read", name, v)
				}
			}
		}
	}
}

func TestEverySettingCanBeSet(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		settings := map[string]any{}
		for _, v := range free(t, name) {
			settings[v] = "canary"
		}
		list, err := render(load(t, name), map[string]any{"settings": settings, "environment": "dev"})
		if err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
			continue
		}
		container := object[appsv1.Deployment](t, list, "Deployment", name).Spec.Template.Spec.Containers[0]
		count := 0
		for _, v := range container.Env {
			if v.Value == "canary" && slices.Contains(printed(t, name), v.Name) {
				count++
			}
		}
		if count != len(settings) {
			t.Errorf("%s: %d of %d settings reached the container under their names", name, count, len(settings))
		}
	}
}

func TestSecretsComeByReferenceOnly(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		for v, e := range environment(t, name, "full") {
			for _, word := range []string{"PASS", "SECRET", "API_KEY", "DSN", "MONGO_URI"} {
				if strings.Contains(v, word) && !strings.HasSuffix(v, "_DIR") && (e.Value != "" || e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil) {
					t.Errorf("%s: %s does not come from a Secret", name, v)
				}
			}
		}
	}
}

// TestNoSettingIsASecret checks the names below settings, because Helm stores values with every release.
func TestNoSettingIsASecret(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`SECRET$|PASS(WORD)?$|_KEY$|DSN$|TOKEN$|_URI$|CREDENTIALS$`)
	for _, name := range names(t) {
		for _, setting := range free(t, name) {
			if secret.MatchString(setting) && setting != "PUBLIC_TLS_KEY" { // a path, not a secret
				t.Errorf("%s takes %s as a setting: it belongs to optionalSecrets", name, setting)
			}
		}
	}
}

func TestLargeNumbersArePrintedInFull(t *testing.T) {
	t.Parallel()
	list, err := render(load(t, "rerun"), map[string]any{"settings": map[string]any{"MAX_MESSAGE_BYTES": float64(33554432)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range object[appsv1.Deployment](t, list, "Deployment", "rerun").Spec.Template.Spec.Containers[0].Env {
		if v.Name == "RERUN_MAX_MESSAGE_BYTES" && v.Value != "33554432" {
			t.Error(v.Value)
		}
	}
}

var storeAuthority = regexp.MustCompile(`_(DB|KV|REDIS|KAFKA|MONGO)_TLS_(CA|CERT|KEY)$`)

func TestTheMigrationReadsWhatTheServiceReadsButTheCertificate(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		if name == "gateway" || name == "search" {
			continue
		}
		job := object[batchv1.Job](t, rendered(t, name, "full"), "Job", name+"-migrate")
		got := map[string]bool{}
		for _, v := range job.Spec.Template.Spec.Containers[0].Env {
			got[v.Name] = true
		}
		for v := range environment(t, name, "full") {
			// The migration also reads the authorities of stores (…_DB_TLS_CA).
			listener := strings.HasSuffix(v, "_ADMIN_TLS")
			certificate := listener || strings.Contains(v, "_TLS_") && !storeAuthority.MatchString(v)
			if got[v] == certificate {
				t.Errorf("%s: %s in the migration: %v", name, v, got[v])
			}
		}
	}
}
