package charts

import (
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func deployment(t *testing.T, name, file string) appsv1.DeploymentSpec {
	t.Helper()
	return object[appsv1.Deployment](t, rendered(t, name, file), "Deployment", name).Spec
}

func TestPortsOfProcessPodServiceAndProbesMatch(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		container := deployment(t, name, "default").Template.Spec.Containers[0]
		open := map[string]int32{}
		for _, p := range container.Ports {
			open[p.Name] = p.ContainerPort
		}
		listens := map[string]bool{}
		for _, v := range environment(t, name, "default") {
			listens[v.Value] = true
		}
		for port, number := range open {
			if !listens[strconv.Itoa(int(number))] {
				t.Errorf("%s: no variable makes the process listen on %s %d", name, port, number)
			}
		}
		for _, p := range service(t, name).Spec.Ports {
			if open[p.TargetPort.StrVal] != p.Port {
				t.Errorf("%s: port %d of the Service leads to %q", name, p.Port, p.TargetPort.StrVal)
			}
		}
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if open[probe.HTTPGet.Port.StrVal] == 0 {
				t.Errorf("%s: a probe asks port %q, which the pod does not have", name, probe.HTTPGet.Port.StrVal)
			}
		}
	}
}

func TestAStopFitsIntoTheGracePeriod(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		spec := deployment(t, name, "default").Template.Spec
		needs := spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds
		for _, v := range []string{"DRAIN_DELAY_SECONDS", "STOP_TIMEOUT_SECONDS"} {
			n, err := strconv.ParseInt(environment(t, name, "default")[prefix(t, name)+v].Value, 10, 64)
			if err != nil {
				t.Error(err)
			}
			needs += n
		}
		if *spec.TerminationGracePeriodSeconds <= needs {
			t.Errorf("%s: %d s of grace for a stop of up to %d s", name, *spec.TerminationGracePeriodSeconds, needs)
		}
	}
}

// locked returns a permission that a pod has and does not need, or "".
func locked(pod corev1.PodSpec) string {
	container := pod.Containers[0].SecurityContext
	switch {
	case !*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
		return "it may run as root or make any system call"
	case *container.AllowPrivilegeEscalation || !*container.ReadOnlyRootFilesystem || len(container.Capabilities.Drop) != 1 || container.Capabilities.Drop[0] != "ALL":
		return "its container has privileges"
	case *pod.AutomountServiceAccountToken || *pod.EnableServiceLinks:
		return "it has a token of the cluster, or variables of other services"
	case pod.Containers[0].Resources.Limits.Memory().IsZero() || pod.Containers[0].Resources.Requests.Cpu().IsZero():
		return "it has no memory limit or asks for no processor"
	}
	return ""
}

func TestPodsMayDoNothingThatTheyNeedNot(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		for _, file := range []string{"default", "full"} {
			if problem := locked(deployment(t, name, file).Template.Spec); problem != "" {
				t.Errorf("%s: got %s, want none", name, problem)
			}
			for _, m := range rendered(t, name, file) {
				if m.kind != "Job" {
					continue
				}
				job := object[batchv1.Job](t, []manifest{m}, "Job", m.name)
				if problem := locked(job.Spec.Template.Spec); problem != "" || job.Spec.Template.Spec.Containers[0].Args[0] != "migrate" {
					t.Errorf("%s: %s", m.name, problem)
				}
			}
		}
	}
}

func TestScaledDeploymentsLeaveTheirReplicasToTheScaler(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		if deployment(t, name, "full").Replicas != nil || deployment(t, name, "default").Replicas == nil {
			t.Errorf("%s: replicas belong to the values or to the scaler, never to both", name)
		}
	}
}
