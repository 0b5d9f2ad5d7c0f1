package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// check tests a property that only a cluster shows. It returns an error when the property does not hold.
type check struct {
	name string
	what string
	run  func(context.Context, cluster) error
}

var checks = []check{
	{"requests", "the example requests through the gateway", checkRequests},
	{"policies", "NetworkPolicies hold in both directions", checkPolicies},
	{"upgrade", "upgrade from the previous version under load, and back", checkUpgrade},
	{"rebuild", "the search index is rebuilt, and rolled back under load", checkRebuild},
	{"kill", "a pod of each service is killed under load", checkKill},
	{"drain", "the node is drained under load", checkDrain},
	{"uninstall", "uninstalling leaves nothing", checkUninstall},
	{"alone", "each service is installed where no other is", checkAlone},
	{"umbrella", "all in one install", checkUmbrella},
	{"trial", "all with engines of its own in the cluster", checkTrial},
}

// test starts the cluster, runs every check, and ends the cluster. With STEPS it runs only these checks, on the running
// platform.
func (c cluster) test(ctx context.Context) error {
	only := os.Getenv("STEPS")
	if only == "" {
		if err := c.up(ctx); err != nil {
			return err
		}
	}
	var failed []error
	for _, k := range checks {
		if only != "" && !slices.Contains(strings.Split(only, ","), k.name) {
			continue
		}
		if err := step(k.what, func() error { return k.run(ctx, c) }); err != nil {
			fmt.Println("FAILED:", err)
			failed = append(failed, errors.New(k.name))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if only == "" {
		if err := step("down, and nothing is left", c.downToNothing); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d checks failed: %w", len(failed), errors.Join(failed...))
	}
	fmt.Println("every check passed")
	return nil
}
