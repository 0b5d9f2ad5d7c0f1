package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// images builds and pushes the images of a checkout with that checkout's `make images`, on the base image in the node's
// registry.
func (c cluster) images(checkout, version string, deployables []string) error {
	bin := filepath.Dir(c.node.Bin)
	make := command{
		dir: checkout,
		args: []string{"make", "--no-print-directory", "images", "REGISTRY=" + c.registry, "VERSION=" + version,
			"BIN=" + bin, "--old-file=" + filepath.Join(bin, "ko")},
	} // runs the ko of this checkout
	if deployables != nil {
		make.args = append(make.args, "SERVICES="+strings.Join(deployables, " "))
	}
	if c.own {
		base, err := os.ReadFile(c.node.BaseFile())
		if err != nil {
			return err
		}
		make.env = append(make.env, "KO_DEFAULTBASEIMAGE="+string(base))
	}
	return make.run()
}

// currentImages pushes the images that the charts name by default.
func (c cluster) currentImages() error {
	version, err := os.ReadFile(filepath.Join(c.root, "VERSION"))
	if err != nil {
		return err
	}
	return c.images(c.root, strings.TrimSpace(string(version)), nil)
}

// install installs a chart with the command of its README.
func (c cluster) install(name, chart string, more ...string) error {
	values, err := c.writeValues()
	if err != nil {
		return err
	}
	args := append(
		[]string{"-n", c.space, "upgrade", "--install", name, chart, "-f", filepath.Join(values, name+".yaml"),
			"--wait", "--timeout", "5m"},
		more...)
	if !c.own {
		args = append(args, "--set", "global.image.registry="+c.registry)
	}
	if _, err := c.helm(args...); err != nil {
		return errors.Join(err, c.whyNot(name))
	}
	return nil
}

// whyNot prints the state and the logs of a release's pods.
func (c cluster) whyNot(name string) error {
	selector := fmt.Sprintf("app.kubernetes.io/name in (%s, %s-migrate, %s-test)", name, name, name)
	pods, _ := c.kubectl("-n", c.space, "get", "pods", "-l", selector, "-o", "wide")
	logs, _ := c.kubectl("-n", c.space, "logs", "--prefix", "--tail=8", "-l", selector)
	return fmt.Errorf("its pods:\n%s\n%s", pods, logs)
}

func (c cluster) installAll() error {
	for _, name := range charts {
		if err := step("  helm install "+name, func() error { return c.install(name, "charts/"+name) }); err != nil {
			return err
		}
		if err := step("  helm test "+name, func() error { return c.helmTest(name) }); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) helmTest(name string) error {
	if _, err := c.helm("-n", c.space, "test", name, "--timeout", "60s"); err != nil {
		return errors.Join(err, c.whyNot(name))
	}
	return nil
}
