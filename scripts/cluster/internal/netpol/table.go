// Package netpol enforces the NetworkPolicies of a one-node cluster, for IPv4. It writes one nftables table again
// whenever a pod, a namespace or a policy changes. Production clusters have a network plugin for this.
package netpol

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// World is the state that policies depend on.
type World struct {
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
	Policies   []*networkingv1.NetworkPolicy
}

// Table returns the input of nft. A pod that a policy selects gets a chain for each direction: an allowing rule
// returns, and the end of the chain drops. Connections from the node itself are not forwarded, so its probes always
// arrive.
func (w World) Table() string {
	w.Pods = slices.DeleteFunc(slices.Clone(w.Pods), func(p *corev1.Pod) bool { return p.Spec.HostNetwork || ended(p) })
	slices.SortFunc(w.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Status.PodIP, b.Status.PodIP) })
	var chains, jumps, own strings.Builder
	for _, pod := range w.Pods {
		address := pod.Status.PodIP
		chain := strings.ReplaceAll(address, ".", "_")
		if rules, isolated := w.rules(pod, networkingv1.PolicyTypeEgress); isolated {
			fmt.Fprintf(&chains, "chain out_%s {\n%scounter drop\n}\n", chain, rules)
			fmt.Fprintf(&jumps, "ip saddr %s jump out_%s\n", address, chain)
			fmt.Fprintf(&own, "ip saddr %s jump out_%s\n", address, chain)
		}
		if rules, isolated := w.rules(pod, networkingv1.PolicyTypeIngress); isolated {
			fmt.Fprintf(&chains, "chain in_%s {\n%scounter drop\n}\n", chain, rules)
			fmt.Fprintf(&jumps, "ip daddr %s jump in_%s\n", address, chain)
		}
	}
	const known = "ct state established,related accept\n"
	return "table ip netpol\ndelete table ip netpol\ntable ip netpol {\n" + chains.String() +
		"chain forward {\ntype filter hook forward priority 10; policy accept;\n" + known + jumps.String() + "}\n" +
		"chain input {\ntype filter hook input priority 10; policy accept;\n" + known + own.String() + "}\n}\n"
}

func ended(p *corev1.Pod) bool {
	return p.Status.PodIP == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// rules returns the rules of all policies that select the pod, for one direction. isolated is false when no policy
// selects it.
func (w World) rules(pod *corev1.Pod, direction networkingv1.PolicyType) (rules string, isolated bool) {
	var out strings.Builder
	for _, policy := range w.Policies {
		if policy.Namespace != pod.Namespace || !slices.Contains(policy.Spec.PolicyTypes, direction) ||
			!selects(&policy.Spec.PodSelector, pod.Labels) {
			continue
		}
		isolated = true
		for _, match := range w.matches(policy, pod, direction) {
			out.WriteString(match + " return\n")
		}
	}
	return out.String(), isolated
}

func (w World) matches(
	policy *networkingv1.NetworkPolicy,
	pod *corev1.Pod,
	direction networkingv1.PolicyType,
) (all []string) {
	if direction == networkingv1.PolicyTypeIngress {
		for _, rule := range policy.Spec.Ingress {
			for _, peer := range w.peers("saddr", policy.Namespace, rule.From) {
				peer.pod = pod // a named port belongs to the listening pod
				all = append(all, peer.withPorts(rule.Ports)...)
			}
		}
		return all
	}
	for _, rule := range policy.Spec.Egress {
		for _, peer := range w.peers("daddr", policy.Namespace, rule.To) {
			all = append(all, peer.withPorts(rule.Ports)...)
		}
	}
	return all
}

func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(of))
}
