package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// checkUninstall uninstalls every release.
func checkUninstall(ctx context.Context, c cluster) error {
	if err := atOnce(charts, func(name string) error { return c.uninstall(name) }); err != nil {
		return err
	}
	return c.nothingLeft(ctx)
}

func (c cluster) uninstall(name string) error {
	_, err := c.helm("-n", c.space, "uninstall", name, "--wait", "--timeout", "2m")
	return err
}

// nothingLeft waits until the namespace contains only what it contained before the first install.
func (c cluster) nothingLeft(ctx context.Context) error {
	kinds, err := c.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name")
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(strings.Fields(kinds), func(kind string) bool { return strings.HasPrefix(kind, "events") })
	ours := c.ours()
	return await(ctx, time.Minute, func() error {
		out, err := c.kubectl("-n", c.space, "get", strings.Join(list, ","), "-o", "name")
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(strings.Fields(out), func(name string) bool {
			_, name, _ = strings.Cut(name, "/")
			return slices.ContainsFunc(ours, func(our string) bool {
				return name == our || strings.HasPrefix(name, our+"-") && slices.Contains(stores, our)
			})
		})
		if len(left) > 0 {
			return fmt.Errorf("uninstalling left %s", strings.Join(left, ", "))
		}
		return nil
	})
}

// ours returns the names of objects that stay: those of Kubernetes, and those made before an install.
func (c cluster) ours() []string {
	names := []string{"default", "kube-root-ca.crt"}
	if c.space == trial {
		return names
	}
	names = append(append(names, "database-owner", "cdc-connector-secrets", stranger), stores...)
	for _, chart := range charts {
		names = append(names, chart+"-secrets")
	}
	return names
}

// checkAlone installs each chart while no other service is installed.
func checkAlone(ctx context.Context, c cluster) error {
	for _, name := range charts {
		err := step("  "+name+" alone", func() error {
			if err := errors.Join(c.install(name, "charts/"+name), c.helmTest(name)); err != nil {
				return err
			}
			return errors.Join(c.uninstall(name), c.nothingLeft(ctx))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkUmbrella installs lab, sends the example requests again, and uninstalls it.
func checkUmbrella(ctx context.Context, c cluster) error {
	if err := c.install("lab", "charts/lab"); err != nil {
		return err
	}
	if err := c.helmTest("lab"); err != nil {
		return err
	}
	if err := c.ask(ctx, reads); err != nil {
		return err
	}
	return errors.Join(c.uninstall("lab"), c.nothingLeft(ctx))
}

// downToNothing ends the cluster and checks that nothing of it remains on this machine.
func (c cluster) downToNothing() error {
	if err := c.down(); err != nil || !c.own {
		return err
	}
	return errors.Join(c.node.Gone(), gone(c.dir))
}

func gone(folder string) error {
	if _, err := os.Stat(folder); err == nil {
		return fmt.Errorf("%s is still there", folder)
	}
	return nil
}
