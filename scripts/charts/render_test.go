package charts

import (
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// kinds returns the types for strict decoding of manifests. Kinds without a type belong to other projects, whose Go
// types would add their operators as dependencies.
func kinds() map[string]any {
	return map[string]any{
		"Deployment": &appsv1.Deployment{}, "Job": &batchv1.Job{}, "Service": &corev1.Service{},
		"ServiceAccount": &corev1.ServiceAccount{}, "Pod": &corev1.Pod{}, "ConfigMap": &corev1.ConfigMap{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
		"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{}, "Ingress": &networkingv1.Ingress{},
		"NetworkPolicy": &networkingv1.NetworkPolicy{}, "ServiceMonitor": &monitoringv1.ServiceMonitor{},
		"PrometheusRule": &monitoringv1.PrometheusRule{}, "Probe": &monitoringv1.Probe{}, "Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{},
		"Certificate": &map[string]any{}, "HTTPRoute": &map[string]any{}, "KafkaTopic": &map[string]any{},
		"KafkaConnector": &map[string]any{}, "ExternalSecret": &map[string]any{}, "KafkaConnect": &map[string]any{},
	}
}

func TestEveryManifestIsValidAndCommitted(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		for _, file := range []string{"default", "full"} {
			var all strings.Builder
			seen := map[string]bool{}
			for _, m := range rendered(t, name, file) {
				into, known := kinds()[m.kind]
				if !known {
					t.Errorf("%s: kind %q has no type to be checked by", name, m.kind)
					continue
				}
				if err := yaml.UnmarshalStrict([]byte(m.text), into); err != nil {
					t.Errorf("%s, %s values, %s: %v", name, file, m.kind, err)
				}
				if id := m.kind + "/" + m.name; seen[id] {
					t.Errorf("%s, %s values: %s twice", name, file, id)
				} else {
					seen[id] = true
				}
				all.WriteString("---\n" + m.text)
			}
			golden(t, filepath.Join(root, name, "ci", file+"-rendered.yaml"), all.String())
		}
	}
}

func TestHelmsLinterFindsNothing(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		for _, file := range []string{"default", "full"} {
			given := values(t, filepath.Join(root, name, "ci", file+"-values.yaml"))
			for _, m := range lint.RunAll(filepath.Join(root, name), given, "lab").Messages {
				if !strings.Contains(m.Err.Error(), "icon is recommended") {
					t.Errorf("%s: %s", name, m)
				}
			}
		}
	}
}

func TestAMisspeltFieldWouldBeSeen(t *testing.T) {
	t.Parallel()
	for _, m := range rendered(t, "rerun", "default") {
		if m.kind != "Deployment" {
			continue
		}
		if yaml.UnmarshalStrict([]byte(strings.Replace(m.text, "replicas:", "replicaz:", 1)), &appsv1.Deployment{}) == nil {
			t.Error("replicaz was accepted")
		}
	}
}
