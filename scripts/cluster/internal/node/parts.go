package node

// part is a process of the node.
type part struct {
	name    string
	command []string
	after   func() error // waits for the part's precondition; may be nil
}

// parts returns the parts in the order in which they start.
func (n Node) parts() []part {
	return []part{
		{name: "registry", command: []string{n.Program("cluster"), "registry", n.Bin, n.Dir}},
		{name: "etcd", command: n.etcd()},
		{name: "containerd", command: []string{"/usr/bin/containerd", "-c", n.settings("containerd.toml")}},
		{name: "kube-apiserver", command: n.apiServer()},
		{name: "kube-controller-manager", command: n.controllers(), after: n.apiServes},
		{name: "kube-scheduler", command: n.withIdentity("kube-scheduler", "scheduler")},
		{name: "kubelet", command: n.kubelet(), after: containerdServes},
		{name: "kube-proxy", command: []string{n.Program("kube-proxy"), "--config", n.settings("proxy.yaml")}},
		{name: "netpol", command: []string{n.Program("cluster"), "netpol", n.Kubeconfig()}},
	}
}

func (n Node) etcd() []string {
	const client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
	return []string{n.Program("etcd"), "--data-dir", n.Dir + "/etcd", "--unsafe-no-fsync", "--log-level", "warn",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer}
}

func (n Node) apiServer() []string {
	return []string{
		n.Program("kube-apiserver"),
		"--etcd-servers",
		"http://127.0.0.1:2379",
		"--advertise-address",
		Address,
		"--secure-port",
		"6443",
		"--cert-dir",
		n.Dir + "/apiserver",
		"--tls-cert-file",
		n.pki("apiserver.crt"),
		"--tls-private-key-file",
		n.pki("apiserver.key"),
		"--client-ca-file",
		n.pki("ca.crt"),
		"--kubelet-client-certificate",
		n.pki("apiserver-kubelet.crt"),
		"--kubelet-client-key",
		n.pki("apiserver-kubelet.key"),
		"--kubelet-certificate-authority",
		n.pki("ca.crt"),
		"--kubelet-preferred-address-types",
		"InternalIP",
		"--service-account-issuer",
		"https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range",
		services,
		"--service-account-key-file",
		n.pki("service-accounts.key"),
		"--service-account-signing-key-file",
		n.pki("service-accounts.key"),
		"--authorization-mode",
		"Node,RBAC",
		"--enable-admission-plugins",
		"NodeRestriction",
	}
}

func (n Node) controllers() []string {
	return append(n.withIdentity("kube-controller-manager", "controller-manager"),
		"--root-ca-file", n.pki("ca.crt"), "--service-account-private-key-file", n.pki("service-accounts.key"),
		"--use-service-account-credentials", "--allocate-node-cidrs=false", "--controllers", "*")
}

// withIdentity returns the command line of a program that calls the API server with the kubeconfig of who.
func (n Node) withIdentity(program, who string) []string {
	kubeconfig := n.pki(who + ".kubeconfig")
	return []string{
		n.Program(program),
		"--kubeconfig",
		kubeconfig,
		"--authentication-kubeconfig",
		kubeconfig,
		"--authorization-kubeconfig",
		kubeconfig,
		"--leader-elect=false",
		"--bind-address",
		"127.0.0.1",
		"--cert-dir",
		n.Dir + "/" + who,
	}
}

func (n Node) kubelet() []string {
	return []string{
		n.Program("kubelet"),
		"--config",
		n.settings("kubelet.yaml"),
		"--kubeconfig",
		n.pki("kubelet.kubeconfig"),
		"--hostname-override",
		Name,
		"--node-ip",
		Address,
		"--cert-dir",
		n.Dir + "/kubelet",
	}
}
