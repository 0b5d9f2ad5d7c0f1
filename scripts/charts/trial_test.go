package charts

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/labplatform/labplatform/services"
)

// TestEnginesOfATrialLetInWhomTheServicesNeed compares with the stores of services/services.yaml. The demo laboratory is
// written into all stores of services, and Kafka Connect follows the database.
func TestEnginesOfATrialLetInWhomTheServicesNeed(t *testing.T) {
	t.Parallel()
	want := map[string][]string{"mysql": {"demo", "kafka-connect"}, "redis": {"demo"}, "mongo": {"demo"}, "objects": {"demo"},
		"kafka": {"kafka-connect"}, "kafka-connect": nil, "elasticsearch": nil, "demo": nil}
	for _, d := range services.List() {
		for _, store := range d.Stores {
			engine := strings.Replace(store, "connect", "kafka-connect", 1)
			want[engine] = append(want[engine], d.Name)
		}
	}
	for _, m := range trial(t) {
		if into, known := kinds()[m.kind]; known {
			if err := yaml.UnmarshalStrict([]byte(m.text), into); err != nil {
				t.Errorf("%s %s: %v", m.kind, m.name, err)
			}
		}
		var policy networkingv1.NetworkPolicy
		callers, engine := want[m.name]
		if m.kind != "NetworkPolicy" || !engine {
			continue
		}
		delete(want, m.name)
		if err := yaml.UnmarshalStrict([]byte(m.text), &policy); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, rule := range policy.Spec.Ingress {
			found = append(found, rule.From[0].PodSelector.MatchExpressions[0].Values...)
		}
		slices.Sort(found)
		slices.Sort(callers)
		if !slices.Equal(found, callers) {
			t.Errorf("%s lets in %v, want %v", m.name, found, callers)
		}
	}
	for engine := range want {
		t.Errorf("%s has no NetworkPolicy", engine)
	}
}

// TestATrialMakesUpItsSecrets: none stands in a file.
func TestATrialMakesUpItsSecrets(t *testing.T) {
	t.Parallel()
	first, second := object[corev1.Secret](t, trial(t), "Secret", "trial"), object[corev1.Secret](t, trial(t), "Secret", "trial")
	for _, name := range []string{"SERVICE_TOKEN_SECRET", "TOKEN_SECRET", "TOPIC_KEY", "DB_PASSWORD", "CONNECTOR_PASSWORD"} {
		if a, b := first.StringData[name], second.StringData[name]; len(a) < 32 || a == b {
			t.Errorf("%s is %d characters, and the same in two installs: %v", name, len(a), a == b)
		}
	}
}

func trial(t *testing.T) []manifest {
	t.Helper()
	all, err := render(load(t, umbrella), map[string]any{"trial": true})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
