package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/scripts/cluster/internal/node"
)

// cluster is a Kubernetes cluster, on this machine or elsewhere, with its registry and the engines next to it.
type cluster struct {
	node       node.Node
	space      string // the namespace of the platform
	root       string // the repository
	dir        string // the folder for all files
	kubeconfig string
	own        bool   // the cluster is the node of this machine
	registry   string // the registry that images are pushed to
	host       string // this machine's address for pods
	portBase   int    // LAB_PORT_BASE of the engines' stack
	before     string // the commit that an upgrade starts from
}

func newCluster(getenv func(string) string) (cluster, error) {
	self, err := os.Executable()
	if err != nil {
		return cluster{}, err
	}
	bin := filepath.Dir(self)
	root := filepath.Dir(filepath.Dir(bin)) // the program is .bin/cluster
	dir, err := filepath.Abs(or(getenv("LAB_DIR"), filepath.Join(root, ".lab")))
	if err != nil {
		return cluster{}, err
	}
	c := cluster{space: "lab", root: root, dir: filepath.Join(dir, "cluster"), kubeconfig: getenv("KUBECONFIG"),
		registry: getenv("REGISTRY"), host: getenv("HOST"), before: getenv("BEFORE")}
	c.node = node.Node{Bin: bin, Dir: filepath.Join(c.dir, "node")}
	if c.portBase, err = strconv.Atoi(or(getenv("LAB_PORT_BASE"), "21000")); err != nil {
		return cluster{}, fmt.Errorf("LAB_PORT_BASE: %w", err)
	}
	if c.own = c.kubeconfig == ""; c.own {
		c.kubeconfig, c.registry, c.host = c.node.Kubeconfig(), node.Registry+"/labplatform", node.Host
	}
	if c.registry == "" || c.host == "" {
		return cluster{}, errors.New("with KUBECONFIG say REGISTRY, from which that cluster pulls, and HOST, this machine for its pods")
	}
	return c, nil
}

func or(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}

// requireRoot fails unless it runs as root, which namespaces, network devices and control groups need.
func requireRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("a Kubernetes on this machine needs root: run it as root, or name another cluster by KUBECONFIG")
	}
	return nil
}

// packages maps programs that cannot be built here to their Debian packages.
var packages = map[string]string{"containerd": "containerd", "runc": "runc", "nft": "nftables", "ip": "iproute2",
	"/usr/lib/cni/ptp": "containernetworking-plugins"}

// requirePrograms installs missing programs with apt-get, where available. None of the packages starts a service that
// is used here.
func requirePrograms() error {
	var missing []string
	for program, of := range packages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, of)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	install := append([]string{"apt-get", "install", "-y", "--no-install-recommends"}, missing...)
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("install %s; on Debian: %s", strings.Join(missing, ", "), strings.Join(install, " "))
	}
	return command{args: install}.run()
}
