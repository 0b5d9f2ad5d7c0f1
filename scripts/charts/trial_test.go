package charts

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtime "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/labplatform/labplatform/services"
)

// TestEnginesOfATrialLetInWhomTheServicesNeed checks that the engines' policies allow the users of each store in
// services/services.yaml. In addition, the demo laboratory is written into all stores, and Kafka Connect reads the
// database.
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
				t.Errorf("%s %s: got error %v, want none", m.kind, m.name, err)
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

// made are the secrets that the chart generates at an install.
var made = []string{"SERVICE_TOKEN_SECRET", "TOKEN_SECRET", "TOPIC_KEY", "DB_PASSWORD", "CONNECTOR_PASSWORD"}

// TestATrialMakesUpItsSecretsOnce checks that no file contains the secrets, that two installs have different ones, and
// that an upgrade keeps them.
func TestATrialMakesUpItsSecretsOnce(t *testing.T) {
	t.Parallel()
	first, second := installed(t, nil), installed(t, nil)
	upgraded := installed(t, first)
	for _, name := range made {
		if a, b := first[name], second[name]; len(a) < 32 || a == b {
			t.Errorf("%s is %d characters, and the same in two installs: %v", name, len(a), a == b)
		}
		if upgraded[name] != first[name] {
			t.Errorf("an upgrade makes another %s", name)
		}
	}
}

// TestATrialWithoutAClusterNeedsASeed checks that rendering without a cluster requires a seed, because Argo CD renders
// repeatedly and cannot read the existing Secret.
func TestATrialWithoutAClusterNeedsASeed(t *testing.T) {
	t.Parallel()
	for _, engines := range []map[string]any{{}, {"seed": "short"}} {
		_, err := render(load(t, umbrella), map[string]any{"trial": true, "engines": engines})
		if err == nil || !strings.Contains(err.Error(), "engines.seed") {
			t.Errorf("%v gave %v, want an error that names engines.seed", engines, err)
		}
	}
	first, second := trial(t), trial(t)
	for i := range first {
		if first[i].text != second[i].text {
			t.Errorf("two renders with a seed differ in %s %s", first[i].kind, first[i].name)
		}
	}
	keys := object[corev1.Secret](t, first, "Secret", "trial").StringData
	for _, name := range made {
		if len(keys[name]) < 32 || strings.Contains(keys[name], "seed") {
			t.Errorf("%s is %q", name, keys[name])
		}
	}
}

// trial returns the trial's manifests, rendered without a cluster.
func trial(t *testing.T) []manifest {
	t.Helper()
	all, err := render(load(t, umbrella), map[string]any{"trial": true, "engines": map[string]any{"seed": "a seed of the test"}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// installed renders the trial for a cluster whose Secret "trial" has the data before (nil: no Secret), and returns the
// data of the new Secret.
func installed(t *testing.T, before map[string]string) map[string]string {
	t.Helper()
	given := map[string]any{"trial": true}
	c := load(t, umbrella)
	if err := chartutil.ProcessDependencies(c, given); err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: umbrella, Namespace: "lab"}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.RenderWithClientProvider(c, all, oneNamespace{before: before})
	if err != nil {
		t.Fatal(err)
	}
	list, err := split(files)
	if err != nil {
		t.Fatal(err)
	}
	return object[corev1.Secret](t, list, "Secret", "trial").StringData
}

// oneNamespace simulates a cluster with the namespace of the install, and with the Secret of a trial unless before is
// nil.
type oneNamespace struct {
	dynamic.NamespaceableResourceInterface
	before map[string]string
	kind   string
}

func (c oneNamespace) GetClientFor(_, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	c.kind = kind
	return c, kind != "Namespace", nil
}

func (c oneNamespace) Namespace(string) dynamic.ResourceInterface { return c }

func (c oneNamespace) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if c.kind == "Namespace" && name == "lab" {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}, nil
	}
	if c.kind != "Secret" || name != "trial" || c.before == nil {
		return nil, apierrors.NewNotFound(runtime.GroupResource{Resource: c.kind}, name)
	}
	data := map[string]any{}
	for key, value := range c.before {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return &unstructured.Unstructured{Object: map[string]any{"data": data}}, nil
}
