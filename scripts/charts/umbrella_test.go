package charts

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const umbrella = "lab"

// TestTheUmbrellaInstallsWhatTheChartsInstall checks that lab renders exactly the manifests of the deployables' charts.
func TestTheUmbrellaInstallsWhatTheChartsInstall(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	list, err := render(load(t, umbrella), map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("loaded and rendered in %v", time.Since(begun).Round(time.Millisecond))
	whole := map[string]string{}
	for _, m := range list {
		whole[m.kind+"/"+m.name] = m.text
	}
	for _, name := range names(t) {
		for _, m := range rendered(t, name, "default") {
			id := m.kind + "/" + m.name
			if ours(whole[id]) != ours(m.text) {
				t.Errorf("%s is not what the chart %s installs", id, name)
			}
			delete(whole, id)
		}
	}
	for id := range whole {
		t.Errorf("%s is of no chart", id)
	}
}

// ours removes the label with the name of the release.
func ours(manifest string) string {
	var kept []string
	for line := range strings.Lines(manifest) {
		if !strings.Contains(line, "app.kubernetes.io/instance:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestTheUmbrellaBringsDashboardsAndAlerts(t *testing.T) {
	t.Parallel()
	list, err := render(load(t, umbrella), values(t, filepath.Join(root, umbrella, "ci", "full-values.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, m := range list {
		into, known := kinds()[m.kind]
		if !known {
			t.Errorf("kind %q has no type to be checked by", m.kind)
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(m.text), into); err != nil {
			t.Errorf("%s %s: got error %v, want none", m.kind, m.name, err)
		}
		found[m.kind]++
	}
	if found["ConfigMap"] != len(names(t)) || found["PrometheusRule"] != len(names(t)) || found["ServiceMonitor"] != len(names(t)) {
		t.Errorf("found %v", found)
	}
}

func TestTheUmbrellaLeavesServicesOutAndRefusesUnknownOnes(t *testing.T) {
	t.Parallel()
	list, err := render(load(t, umbrella), map[string]any{"services": map[string]any{"search": false}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if m.name == "search" {
			t.Errorf("%s search is installed", m.kind)
		}
	}
	for wrong, given := range map[string]map[string]any{
		"serach":     {"services": map[string]any{"serach": false}},
		"replicaz":   {"rerun": map[string]any{"replicaz": 3}},
		"rerunn":     {"rerunn": map[string]any{}},
		"sede":       {"trial": true, "engines": map[string]any{"sede": "x"}},
		"mysql":      {"trial": true, "engines": map[string]any{"images": map[string]any{"mysql": "x"}}},
		"DB_PASWORD": {"rerun": map[string]any{"migration": map[string]any{"secretKeys": map[string]any{"DB_PASWORD": map[string]any{"name": "x"}}}}},
	} {
		if _, err := render(load(t, umbrella), given); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s gave %v", wrong, err)
		}
	}
}
