package netpol

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func pod(name, address string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Name, p.Namespace, p.Labels, p.Status.PodIP = name, "lab", map[string]string{"name": name}, address
	p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "admin", ContainerPort: 8005}}}}
	return p
}

func named(name string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{"name": name}}
}

// TestOnlyTheCallerReachesTheCallee uses a callee that allows the caller by port number and monitoring by port name, a
// caller that may connect to the callee only, and a pod that no policy selects and that is not restricted.
func TestOnlyTheCallerReachesTheCallee(t *testing.T) {
	caller, callee, stranger := pod("caller", "10.0.0.1"), pod("callee", "10.0.0.2"), pod("stranger", "10.0.0.3")
	to, from, admin, grpc := named("callee"), named("caller"), intstr.FromString("admin"), intstr.FromInt32(9005)
	policy := func(selector metav1.LabelSelector, spec networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicy {
		spec.PodSelector = selector
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "lab"}, Spec: spec}
	}
	world := World{Pods: []*corev1.Pod{caller, callee, stranger}, Policies: []*networkingv1.NetworkPolicy{
		policy(to, networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Ingress"},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &from}}, Ports: []networkingv1.NetworkPolicyPort{{Port: &grpc}}},
				{Ports: []networkingv1.NetworkPolicyPort{{Port: &admin}}}}}),
		policy(from, networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Egress"},
			Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &to}}}}}),
	}}
	table := world.Table()
	for _, want := range []string{
		"chain in_10_0_0_2 {\nip saddr 10.0.0.1 meta l4proto tcp th dport 9005 return\nmeta l4proto tcp th dport 8005 return\ncounter drop\n}",
		"chain out_10_0_0_1 {\nip daddr 10.0.0.2 meta l4proto { tcp, udp, sctp, icmp } return\ncounter drop\n}",
		"ip daddr 10.0.0.2 jump in_10_0_0_2", "ip saddr 10.0.0.1 jump out_10_0_0_1",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "10_0_0_3") {
		t.Errorf("a pod that no policy selects is held:\n%s", table)
	}
}
