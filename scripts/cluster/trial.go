package main

import (
	"context"
	_ "embed" // for the script below
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/labplatform/labplatform/scripts/cluster/internal/node"
	"github.com/labplatform/labplatform/scripts/cluster/internal/registry"
)

// trial is the namespace of the trial, and the name of its Secret.
const trial = "trial"

// checkTrial installs the chart lab with engines in the cluster, as a new user would.
func checkTrial(ctx context.Context, c cluster) error {
	c.space = trial
	if err := step("  images of the engines", c.engineImages); err != nil {
		return err
	}
	made, err := json.Marshal(c.namespace())
	if err != nil {
		return err
	}
	if err := c.apply(string(made)); err != nil {
		return err
	}
	install := []string{"-n", c.space, "upgrade", "--install", "lab", "charts/lab", "--set", "trial=true",
		"--wait", "--timeout", "10m"}
	if !c.own {
		install = append(install, "--set", "global.image.registry="+c.registry)
	}
	if err := step("  helm install lab charts/lab --set trial=true", func() error { return c.ready(install) }); err != nil {
		return err
	}
	return errors.Join(c.helmTest("lab"), checkRequests(ctx, c), c.keepsSecrets(install), c.endTrial(ctx))
}

// ready installs the release and, if that fails, prints what is not ready.
func (c cluster) ready(install []string) error {
	_, err := c.helm(install...)
	if err != nil {
		pods, _ := c.kubectl("-n", c.space, "get", "pods", "-o", "wide")
		err = fmt.Errorf("%w\n%s", err, pods)
	}
	return err
}

// keepsSecrets upgrades the release and checks that the generated secrets stay the same.
func (c cluster) keepsSecrets(install []string) error {
	read := func() (map[string]string, error) {
		var secret struct{ Data map[string]string }
		return secret.Data, c.read(&secret, "-n", c.space, "secret", trial)
	}
	before, err := read()
	if err != nil {
		return err
	}
	if err := c.ready(install); err != nil {
		return err
	}
	after, err := read()
	if err == nil && !maps.Equal(before, after) {
		err = errors.New("an upgrade of the trial makes other Secrets")
	}
	return err
}

func (c cluster) endTrial(ctx context.Context) error {
	if err := errors.Join(c.uninstall("lab"), c.nothingLeft(ctx)); err != nil {
		return err
	}
	_, err := c.kubectl("delete", "namespace", c.space)
	return err
}

// engineImages builds an image from this machine's programs and pushes it under the names of the engines' public
// images, which other clusters pull.
func (c cluster) engineImages() error {
	if !c.own {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(c.root, "charts/lab/charts/engines/values.yaml"))
	if err != nil {
		return err
	}
	var values struct{ Images map[string]string }
	if err := yaml.Unmarshal(text, &values); err != nil {
		return err
	}
	var references []string
	for _, image := range slices.Sorted(maps.Values(values.Images)) {
		if _, path, found := strings.Cut(image, "/"); found {
			references = append(references, node.Registry+"/"+path)
		}
	}
	programs, err := c.enginePrograms()
	if err != nil {
		return err
	}
	return registry.PushPrograms(programs, references)
}

//go:embed engines.sh
var packEngines string

// enginePackages are the Debian packages that the engines' scripts need; their dependencies are included.
const enginePackages = "mariadb-server-core mariadb-client-core redis-server openjdk-17-jre-headless dash coreutils sed"

// enginePrograms writes an archive of the engines' programs, at the paths that they have in the public images.
func (c cluster) enginePrograms() (archive string, err error) {
	root := filepath.Join(c.dir, "engines")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	distributions := or(os.Getenv("LAB_DISTRIBUTIONS"), filepath.Join(filepath.Dir(c.dir), "distributions"))
	if distributions, err = filepath.Abs(distributions); err != nil {
		return "", err
	}
	archive = filepath.Join(root, "programs.tar.gz")
	pack := command{args: []string{"sh", "-c", packEngines}, dir: root,
		env: []string{"PACKAGES=" + enginePackages, "DISTRIBUTIONS=" + distributions, "ARCHIVE=" + archive}}
	return archive, pack.run()
}
