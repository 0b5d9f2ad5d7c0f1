// Package node runs a complete Kubernetes on this machine without Docker: etcd, API server, controllers, scheduler,
// kubelet, proxy, containerd and a registry in namespaces of their own. All processes end with the first process of the
// namespaces, and no setting of the machine is changed.
package node

import "path/filepath"

// Addresses of the node's network. The node and this machine are the two ends of a link, and this machine forwards no
// packets of the node.
const (
	Name     = "labnode"
	Host     = "10.99.0.1" // address of this machine for pods
	Address  = "10.99.0.2"
	Registry = Address + ":5000"
	DNS      = "10.96.0.10"
	NodeDNS  = "169.254.20.10" // the node's own name server, like NodeLocal DNSCache

	pods     = "10.244.0.0/24"
	services = "10.96.0.0/16"
	firstIP  = "10.96.0.1" // the first address of Services: the API server's
)

// Node is a cluster of one node.
type Node struct {
	Bin string // folder of the programs
	Dir string // data, certificates, logs; deleted with the cluster
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (n Node) Kubeconfig() string { return n.pki("admin.kubeconfig") }

// Log returns the path of a part's log.
func (n Node) Log(part string) string { return filepath.Join(n.Dir, "log", part+".log") }

// Program returns the path of a program. Those of Kubernetes are links to one binary.
func (n Node) Program(name string) string { return filepath.Join(n.Bin, name) }

// BaseFile returns the path of the file that contains the reference of the base image.
func (n Node) BaseFile() string { return filepath.Join(n.Dir, "base.txt") }

func (n Node) pki(name string) string      { return filepath.Join(n.Dir, "pki", name) }
func (n Node) settings(name string) string { return filepath.Join(n.Dir, "settings", name) }
