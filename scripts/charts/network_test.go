package charts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	_ "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	_ "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// outsiders are callers that are not installed by the charts: the platform's core, the instrument interfaces, and an
// operator on the machine.
var outsiders = []string{"core", "instruments", "operator"}

// callers returns every call that a contract allows, as "caller → service". The value is false for calls that come only
// through the gateway's internal listener: webhooks to the service that ordered them, and calls of outsiders that have
// a path.
func callers() map[string]bool {
	table := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		_, area, ours := strings.Cut(string(file.Package()), "lab.")
		if !ours {
			return true
		}
		area, _, _ = strings.Cut(area, ".")
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				allowed, _ := proto.GetExtension(methods.Get(j).Options(), typev1.E_Callers).(*typev1.Callers)
				hasPath := proto.HasExtension(methods.Get(j).Options(), annotations.E_Http)
				for _, caller := range allowed.GetServices() {
					forwarded := caller == area || hasPath && slices.Contains(outsiders, caller)
					table[caller+" → "+area] = table[caller+" → "+area] || !forwarded
				}
				if allowed.GetUsers() {
					table["gateway → "+area] = true
				}
			}
		}
		return true
	})
	return table
}

// policy returns the NetworkPolicy of a chart, without the rule for its own `helm test`.
func policy(t *testing.T, name, file string) networkingv1.NetworkPolicySpec {
	t.Helper()
	spec := object[networkingv1.NetworkPolicy](t, rendered(t, name, file), "NetworkPolicy", name).Spec
	own := slices.IndexFunc(spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
		return len(r.From) == 1 && peer(r.From[0]) == name+"-test"
	})
	if own < 0 {
		t.Fatalf("%s refuses its own test", name)
	}
	spec.Ingress = slices.Delete(spec.Ingress, own, own+1)
	return spec
}

// isDNS reports whether a rule is for name resolution only.
func isDNS(rule networkingv1.NetworkPolicyEgressRule) bool {
	for _, port := range rule.Ports {
		if n := port.Port.IntVal; n != 53 && n != 5353 {
			return false
		}
	}
	return len(rule.Ports) > 0
}

// peer returns the name of a peer's deployable or namespace, or "".
func peer(p networkingv1.NetworkPolicyPeer) string {
	if p.NamespaceSelector != nil {
		return p.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
	}
	if p.PodSelector != nil {
		return p.PodSelector.MatchLabels["app.kubernetes.io/name"]
	}
	return ""
}

// grpcPort returns the gRPC port of a chart, or 0 for the gateway.
func grpcPort(t *testing.T, name string) int32 {
	t.Helper()
	for _, p := range service(t, name).Spec.Ports {
		if p.Name == "grpc" {
			return p.Port
		}
	}
	return 0
}

func service(t *testing.T, name string) corev1.Service {
	t.Helper()
	return object[corev1.Service](t, rendered(t, name, "default"), "Service", name)
}

// entering returns the calls to gRPC ports that the callees' policies allow.
func entering(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, name := range names(t) {
		for _, rule := range policy(t, name, "full").Ingress {
			for _, port := range rule.Ports {
				for _, from := range rule.From {
					if port.Port.IntVal == grpcPort(t, name) && port.Port.StrVal == "" {
						found[peer(from)+" → "+name] = true
					}
				}
			}
		}
	}
	return found
}

// leaving returns the calls to gRPC ports that the callers' policies allow.
func leaving(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, name := range names(t) {
		for _, rule := range policy(t, name, "full").Egress {
			for _, to := range rule.To {
				if callee := peer(to); slices.Contains(names(t), callee) && rule.Ports[0].Port.IntVal == grpcPort(t, callee) {
					found[name+" → "+callee] = true
				}
			}
		}
	}
	return found
}

func TestThePoliciesAllowTheCallersTableAndNoMore(t *testing.T) {
	t.Parallel()
	want, in, out := callers(), entering(t), leaving(t)
	if len(want) < 15 {
		t.Fatalf("the callers table has %d calls only", len(want))
	}
	for _, call := range slices.Sorted(maps.Keys(want)) {
		if !want[call] {
			continue
		}
		if !in[call] {
			t.Errorf("%s is in the callers table, and the callee's policy refuses it", call)
		}
		caller, _, _ := strings.Cut(call, " → ")
		if !out[call] && !slices.Contains(outsiders, caller) {
			t.Errorf("%s is in the callers table, and the caller's policy refuses it", call)
		}
	}
	for call := range in {
		if _, allowed := want[call]; !allowed {
			t.Errorf("%s is let in, and no contract allows it", call)
		}
	}
	for call := range out {
		if _, allowed := want[call]; !allowed {
			t.Errorf("%s is let out, and no contract allows it", call)
		}
	}
}

// TestTheOtherListenersAreClosed checks all other ingress rules against the architecture: clients may reach the public
// listener, webhooks of the task queue (and, if the values name them, core and instruments) the internal one, and
// monitoring the health ports.
func TestTheOtherListenersAreClosed(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"default", "full"} {
		got := map[string]bool{}
		for _, name := range names(t) {
			for _, rule := range policy(t, name, file).Ingress {
				for _, port := range rule.Ports {
					if port.Port.IntVal == grpcPort(t, name) && port.Port.StrVal == "" {
						continue
					}
					if len(rule.From) == 0 {
						got[fmt.Sprintf("anybody → %s:%s", name, port.Port)] = true
					}
					for _, from := range rule.From {
						got[fmt.Sprintf("%s → %s:%s", peer(from), name, port.Port)] = true
					}
				}
			}
		}
		want := map[string]bool{"anybody → gateway:8090": true, "taskqueue → gateway:8091": true,
			"monitoring → search:rest": true, "monitoring → cdc:health": true}
		for _, name := range names(t) {
			if name != "search" && name != "cdc" {
				want["monitoring → "+name+":admin"] = true
			}
		}
		if file == "full" {
			want["core → gateway:8091"], want["instruments → gateway:8091"] = true, true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s values: %v, want %v", file, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}

func TestOutsidersAreRefusedUntilTheValuesNameThem(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		for _, rule := range policy(t, name, "default").Ingress {
			for _, from := range rule.From {
				if slices.Contains(outsiders, peer(from)) {
					t.Errorf("%s lets %s in by default", name, peer(from))
				}
			}
		}
	}
}

func TestOnlyTheTaskQueueReachesTheInternet(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		for _, rule := range policy(t, name, "default").Egress {
			if isDNS(rule) {
				continue
			}
			for _, to := range rule.To {
				if to.IPBlock != nil && name != "taskqueue" {
					t.Errorf("%s may reach %s", name, to.IPBlock.CIDR)
				}
				if to.IPBlock != nil && to.IPBlock.CIDR == "0.0.0.0/0" && !slices.Contains(to.IPBlock.Except, "169.254.0.0/16") {
					t.Error("webhooks may reach the metadata service of the cloud")
				}
			}
		}
	}
}
