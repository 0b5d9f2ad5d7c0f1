// Command cluster installs the platform in a Kubernetes cluster on this machine, with the project's own images and
// charts, and tests properties that only a cluster shows.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/labplatform/labplatform/scripts/cluster/internal/netpol"
	"github.com/labplatform/labplatform/scripts/cluster/internal/node"
	"github.com/labplatform/labplatform/scripts/cluster/internal/registry"
)

const help = `cluster runs the platform in a Kubernetes of this machine.

  cluster up      a Kubernetes without Docker, engines beside it, the project's images, every chart one by one with its
                  helm test; continues where it stopped
  cluster test    everything from nothing, what only a cluster shows, and down; with STEPS=upgrade,policies these alone,
                  on the one that runs (requests, policies, upgrade, rebuild, kill, drain, uninstall, alone,
                  umbrella, trial)
  cluster down    ends all of it and leaves nothing

They need root: the node is a tree of processes in namespaces of its own. With KUBECONFIG another cluster is used: then
REGISTRY is one that it pulls from and HOST this machine's address as its pods reach it.

Environment: LAB_DIR (data; .lab), LAB_PORT_BASE (of the engines; 21000), BEFORE (the commit that the upgrade begins
from; the newest tag, or a hundred commits back), LAB_DISTRIBUTIONS (as for devstack).
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, help)
		os.Exit(2)
	}
	if err := run(ctx, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, verb string, args []string) error {
	switch verb {
	case "help", "-h", "--help":
		fmt.Print(help)
		return nil
	case node.Inside:
		return node.Node{Bin: args[0], Dir: args[1]}.RunInside()
	case "registry":
		return serveRegistry(node.Node{Bin: args[0], Dir: args[1]})
	case "netpol":
		return netpol.Enforce(ctx, args[0], os.Stderr)
	}
	c, err := newCluster(os.Getenv)
	if err != nil {
		return err
	}
	switch verb {
	case "serve":
		return c.serve(ctx)
	case "up":
		return c.up(ctx)
	case "test":
		return c.test(ctx)
	case "down":
		return c.down()
	}
	return fmt.Errorf("unknown verb %q: see cluster --help", verb)
}

func serveRegistry(n node.Node) error {
	return registry.Serve(node.Registry, n.Dir+"/layers", n.BaseFile(), n.Program("pod"), n.Program("coredns"))
}
