package netpol

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// peer is the other side of a connection: an nft match, and the pod in which a named port is looked up.
type peer struct {
	match string
	pod   *corev1.Pod
}

// peers returns the peers of a rule. A rule without peers allows all.
func (w World) peers(side, namespace string, named []networkingv1.NetworkPolicyPeer) (all []peer) {
	if len(named) == 0 {
		return []peer{{}}
	}
	for _, p := range named {
		if p.IPBlock != nil {
			if !strings.Contains(p.IPBlock.CIDR, ":") {
				all = append(all, peer{match: block(side, p.IPBlock)})
			}
			continue
		}
		for _, pod := range w.Pods {
			if w.isPeer(p, namespace, pod) {
				all = append(all, peer{match: "ip " + side + " " + pod.Status.PodIP, pod: pod})
			}
		}
	}
	return all
}

func block(side string, b *networkingv1.IPBlock) string {
	match := "ip " + side + " " + b.CIDR
	if len(b.Except) > 0 {
		match += " ip " + side + " != { " + strings.Join(b.Except, ", ") + " }"
	}
	return match
}

func (w World) isPeer(p networkingv1.NetworkPolicyPeer, namespace string, pod *corev1.Pod) bool {
	if p.PodSelector != nil && !selects(p.PodSelector, pod.Labels) {
		return false
	}
	if p.NamespaceSelector == nil {
		return pod.Namespace == namespace
	}
	for _, space := range w.Namespaces {
		if space.Name == pod.Namespace {
			return selects(p.NamespaceSelector, space.Labels)
		}
	}
	return false
}

func (p peer) withPorts(ports []networkingv1.NetworkPolicyPort) (all []string) {
	if len(ports) == 0 {
		return []string{strings.TrimSpace(p.match + " meta l4proto { tcp, udp, sctp, icmp }")}
	}
	for _, port := range ports {
		protocol := "tcp"
		if port.Protocol != nil {
			protocol = strings.ToLower(string(*port.Protocol))
		}
		match := strings.TrimSpace(p.match + " meta l4proto " + protocol)
		switch {
		case port.Port == nil:
			all = append(all, match)
		case port.Port.Type == intstr.Int && port.EndPort != nil:
			all = append(all, fmt.Sprintf("%s th dport %d-%d", match, port.Port.IntVal, *port.EndPort))
		case port.Port.Type == intstr.Int:
			all = append(all, fmt.Sprintf("%s th dport %d", match, port.Port.IntVal))
		default:
			all = append(all, p.named(match, port.Port.StrVal)...)
		}
	}
	return all
}

// named returns nft matches for the ports with that name, or nothing for a peer without a pod.
func (p peer) named(match, name string) (all []string) {
	if p.pod == nil {
		return nil
	}
	for _, container := range p.pod.Spec.Containers {
		for _, open := range container.Ports {
			if open.Name == name {
				all = append(all, fmt.Sprintf("%s th dport %d", match, open.ContainerPort))
			}
		}
	}
	return all
}
