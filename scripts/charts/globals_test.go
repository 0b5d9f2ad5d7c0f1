package charts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// around returns a chart of another project that has a chart of the platform as a dependency.
func around(t *testing.T, part string, values map[string]any) *chart.Chart {
	t.Helper()
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "hospital", Version: "1.0.0",
		Dependencies: []*chart.Dependency{{Name: part, Version: "1.0.0"}}}, Values: values, Raw: []*common.File{}}
	c.AddDependency(load(t, part))
	return c
}

// TestWhatGlobalSaysHoldsForEveryChart checks that global values apply to every chart, and that a chart's own value
// overrides a global one.
func TestWhatGlobalSaysHoldsForEveryChart(t *testing.T) {
	t.Parallel()
	list, err := render(load(t, umbrella), map[string]any{
		"global": map[string]any{
			"environment": "staging", "imagePullSecrets": []any{map[string]any{"name": "registry"}},
			"image":          map[string]any{"registry": "registry.example.org/lab", "tag": "1.2.0"},
			"database":       map[string]any{"host": "mysql.example.org", "tls": true},
			"telemetry":      map[string]any{"otlpEndpoint": "collector:4317"},
			"serviceMonitor": map[string]any{"enabled": true},
			"podLabels":      map[string]any{"team": "lab", "hospital": "a"},
			"migration":      map[string]any{"databaseUser": "owner"},
		},
		"rerun": map[string]any{"database": map[string]any{"host": "other.example.org"}, "podLabels": map[string]any{"team": "rerun"},
			"environment": "production"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t) {
		pod := object[appsv1.Deployment](t, list, "Deployment", name).Spec.Template
		object[monitoringv1.ServiceMonitor](t, list, "ServiceMonitor", name)
		env := map[string]string{}
		for _, v := range pod.Spec.Containers[0].Env {
			env[strings.TrimPrefix(v.Name, prefix(t, name))] = v.Value
		}
		want := map[string]string{"ENVIRONMENT": "staging", "OPENTELEMETRY_ENDPOINT": "collector:4317", "DB_HOST": "mysql.example.org", "DB_TLS": "true", "team": "lab"}
		if name == "rerun" {
			want["ENVIRONMENT"], want["DB_HOST"], want["team"] = "production", "other.example.org", "rerun"
		}
		if name == "gateway" {
			want["DB_HOST"], want["DB_TLS"] = "", ""
		}
		env["team"] = pod.Labels["team"]
		for variable, value := range want {
			if env[variable] != value {
				t.Errorf("%s: %s is %q, want %q", name, variable, env[variable], value)
			}
		}
		if image := pod.Spec.Containers[0].Image; image != "registry.example.org/lab/"+name+":1.2.0" {
			t.Errorf("%s: the image is %s", name, image)
		}
		if pulls := pod.Spec.ImagePullSecrets; len(pulls) != 1 || pulls[0].Name != "registry" || pod.Labels["hospital"] != "a" {
			t.Errorf("%s: pull secrets %v, labels %v", name, pulls, pod.Labels)
		}
	}
}

// TestEveryPodIsPlacedByGlobal checks every pod, also of Jobs and engines. Where all nodes are tainted, a migration Job
// without the tolerations would block an install until it fails, and a trial's engines come from the same registry as
// the other images.
func TestEveryPodIsPlacedByGlobal(t *testing.T) {
	t.Parallel()
	for _, trial := range []bool{false, true} {
		list, err := render(load(t, umbrella), map[string]any{
			"trial": trial, "engines": map[string]any{"seed": "sixteen-letters-x"},
			"global": map[string]any{
				"imagePullSecrets": []any{map[string]any{"name": "registry"}}, "nodeSelector": map[string]any{"for": "lab"},
				"tolerations": []any{map[string]any{"key": "lab", "operator": "Exists"}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		pods := 0
		for _, m := range list {
			pod, is := podOf(t, list, m)
			if !is {
				continue
			}
			pods++
			if len(pod.ImagePullSecrets) != 1 || pod.NodeSelector["for"] != "lab" || len(pod.Tolerations) != 1 {
				t.Errorf("trial %v: %s %s has the pull secrets %v, nodes %v, tolerations %v",
					trial, m.kind, m.name, pod.ImagePullSecrets, pod.NodeSelector, pod.Tolerations)
			}
		}
		if pods < 2*len(names(t)) { // every Deployment also has a test pod
			t.Errorf("trial %v: %d pods", trial, pods)
		}
	}
}

// podOf returns the pod of a manifest; is reports whether it has one.
func podOf(t *testing.T, list []manifest, m manifest) (pod corev1.PodSpec, is bool) {
	t.Helper()
	switch m.kind {
	case "Pod":
		return object[corev1.Pod](t, list, m.kind, m.name).Spec, true
	case "Deployment", "Job":
		return decode[struct {
			Spec struct {
				Template struct{ Spec corev1.PodSpec }
			}
		}](t, list, m.kind, m.name).Spec.Template.Spec, true
	}
	return pod, false
}

// TestNamesOfGlobalAreThoseThatTheChartsKnow checks that the error for an unknown global value lists exactly the names
// in the values of lab.
func TestNamesOfGlobalAreThoseThatTheChartsKnow(t *testing.T) {
	t.Parallel()
	_, err := render(load(t, "rerun"), map[string]any{"global": map[string]any{"x": true}})
	if err == nil {
		t.Fatal("global.x was accepted")
	}
	_, list, _ := strings.Cut(err.Error(), "These are read: ")
	known := strings.Split(strings.TrimSpace(strings.Split(list, "\n")[0]), ", ")
	for key := range values(t, filepath.Join(root, umbrella, "values.yaml"))["global"].(map[string]any) {
		if !slices.Contains(known, key) {
			t.Errorf("lab documents global.%s, which the charts refuse: they know %v", key, known)
		}
	}
	if want := len(globals(t)) + 1; len(known) != want {
		t.Errorf("the charts know %d names of global, lab documents %d: %v", len(known), want, known)
	}
}

func TestAMisspeltGlobalIsRefusedWithASentence(t *testing.T) {
	t.Parallel()
	for wrong, global := range map[string]map[string]any{
		"global.prometheusRul is read by no chart": {"prometheusRul": map[string]any{"enabled": true}},
		"global.imagePullSecret is read by no":     {"imagePullSecret": "x"},
		"global.existingSecret is read by no":      {"existingSecret": "x"},
		"'/global/prometheusRule'":                 {"prometheusRule": map[string]any{"enable": true}},
		"'/global/image'":                          {"image": map[string]any{"digest": "x"}},
		"'/global/serviceMonitor'":                 {"serviceMonitor": map[string]any{"intervall": "15s"}},
		"'/global/telemetry'":                      {"telemetry": map[string]any{"endpoint": "x:1"}},
		"'/global/telemetry/otlpEndpoint'":         {"telemetry": map[string]any{"otlpEndpoint": "x"}},
		"'/global/environment'":                    {"environment": "prod"},
		"'/global/database'":                       {"database": map[string]any{"hots": "x"}},
		"'/global/networkPolicy'":                  {"networkPolicy": map[string]any{"monitorin": []any{}}},
		"'/global/dashboard'":                      {"dashboard": map[string]any{"enable": true}},
		"'/global/migration'":                      {"migration": map[string]any{"inPod": true}},
	} {
		for _, c := range []string{umbrella, "rerun"} {
			if _, err := render(load(t, c), map[string]any{"global": global}); err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: %v gave %v, want %s", c, global, err, wrong)
			}
		}
	}
}

// TestAChartAroundTheseHasGlobalsOfItsOwn checks that globals of an enclosing chart are allowed below its name and in
// global.ignored, whatever their type.
func TestAChartAroundTheseHasGlobalsOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, part := range []string{umbrella, "rerun"} {
		for name, c := range map[string]struct {
			global  map[string]any
			refused string
		}{
			"below its name":                 {map[string]any{"hospital": map[string]any{"wards": 7}}, ""},
			"elsewhere":                      {map[string]any{"wards": 7}, "global.wards is read by no chart"},
			"listed":                         {map[string]any{"wards": 7, "ignored": []any{"wards"}}, ""},
			"more of its own in image":       {map[string]any{"image": map[string]any{"registry": "r", "flavour": "x"}}, "'/global/image'"},
			"a listed image":                 {map[string]any{"image": map[string]any{"registry": "r", "flavour": "x"}, "ignored": []any{"image"}}, ""},
			"listed ones that are read late": {map[string]any{"dashboard": "x", "prometheusRule": "x", "ignored": []any{"dashboard", "prometheusRule"}}, ""},
			"a listed one of its types":      {map[string]any{"image": "hospital:1", "ignored": []any{"image"}}, ""},
		} {
			list, err := render(around(t, part, map[string]any{"global": c.global}), map[string]any{})
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%s, %s: %v, want %s", part, name, err, c.refused)
				}
				continue
			}
			if err != nil {
				t.Errorf("got %s, %s: %v, want no error", part, name, err)
				continue
			}
			if image := object[appsv1.Deployment](t, list, "Deployment", "rerun").Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, "ghcr.io/") {
				t.Errorf("%s, %s: the image is %s, want that of the chart", part, name, image)
			}
		}
	}
}

// TestDangerousSettingsFollowTheEnvironmentOfGlobal checks that a chart with environment production keeps it, whatever
// global says.
func TestDangerousSettingsFollowTheEnvironmentOfGlobal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own, global string
		ignored     []any
		refused     bool
	}{
		"neither":                {"", "", nil, true},
		"dev for all":            {"", "dev", nil, false},
		"dev for all but this":   {"production", "dev", nil, true},
		"production but this":    {"dev", "production", nil, false},
		"staging":                {"", "staging", nil, true},
		"dev of another's chart": {"", "dev", []any{"environment"}, true},
	} {
		_, err := render(load(t, "taskqueue"), map[string]any{"environment": c.own, "settings": map[string]any{"ADMIN_OPEN": true},
			"global": map[string]any{"environment": c.global, "ignored": c.ignored}})
		if (err != nil) != c.refused {
			t.Errorf("%s: %v, want it refused: %t", name, err, c.refused)
		}
	}
}
