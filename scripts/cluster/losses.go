package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// inFlight is the number of requests of each service that a killed process may lose.
const inFlight = 2

// checkKill kills a pod of each deployable without a grace period under load.
func checkKill(ctx context.Context, c cluster) error {
	counts, err := c.underLoad(ctx, reads, func() error {
		for _, name := range charts {
			if err := c.killOne(ctx, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return report(fmt.Sprintf("%d pods killed", len(charts)), counts, inFlight)
}

func (c cluster) killOne(ctx context.Context, name string) error {
	pod, err := c.kubectl(
		"-n",
		c.space,
		"get",
		"pods",
		"-l",
		"app.kubernetes.io/name="+name,
		"-o",
		"jsonpath={.items[0].metadata.name}",
	)
	if err != nil {
		return err
	}
	if _, err := c.kubectl("-n", c.space, "delete", "pod", pod, "--grace-period=0", "--force"); err != nil {
		return err
	}
	return c.allReady(ctx, name)
}

// allReady waits until each of the deployables has all of its pods ready.
func (c cluster) allReady(ctx context.Context, names ...string) error {
	return await(ctx, 2*time.Minute, func() error {
		for _, name := range names {
			out, err := c.kubectl(
				"-n",
				c.space,
				"get",
				"deployment",
				name,
				"-o",
				"jsonpath={.spec.replicas} {.status.readyReplicas}",
			)
			if err != nil {
				return err
			}
			if want, ready, _ := strings.Cut(out, " "); want != ready {
				return fmt.Errorf("%s has %q of %s pods ready", name, ready, want)
			}
		}
		return nil
	})
}

// checkDrain drains the only node. One pod of each service is evicted; its replacement finds no node, so the disruption
// budget keeps the other one and the drain gives up. The single cdc is evicted: searches continue without it.
func checkDrain(ctx context.Context, c cluster) error {
	counts, err := c.underLoad(ctx, reads, func() error {
		_, drained := c.kubectl(
			"drain",
			"--selector=kubernetes.io/os=linux",
			"--pod-selector=app.kubernetes.io/part-of=lab",
			"--timeout=40s",
		)
		var waiting []string
		for _, name := range charts {
			out, err := c.kubectl("-n", c.space, "get", "deployment", name, "-o", "jsonpath={.status.readyReplicas}")
			if err != nil {
				return err
			}
			if name != "cdc" && out != "1" {
				waiting = append(waiting, fmt.Sprintf("%s has %q ready pods", name, out))
			}
		}
		if _, err := c.kubectl("uncordon", "-l", "kubernetes.io/os=linux"); err != nil {
			return err
		}
		if drained == nil || len(waiting) > 0 {
			return fmt.Errorf("the drain did not stop at one pod of each: %w; %s", drained, strings.Join(waiting, ", "))
		}
		return c.allReady(ctx, charts...)
	})
	if err != nil {
		return err
	}
	return report("node drained", counts, 0)
}
