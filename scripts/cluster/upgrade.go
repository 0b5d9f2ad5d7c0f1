package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// upgraded are the deployables that the check returns to the previous version: the gateway and two services.
var upgraded = []string{"cellcounter", "billsplit", "gateway"}

// beforeTag is the tag of the previous version's images.
const beforeTag = "before"

// checkUpgrade upgrades from the previous version to this one, rolls back and upgrades again, under load.
func checkUpgrade(ctx context.Context, c cluster) error {
	var checkout string
	steps := []struct {
		what string
		do   func() error
	}{
		{"  the previous version: its images", func() (err error) { checkout, err = c.buildBefore(); return err }},
		{"  the previous version: installed", func() error { return c.installBefore(checkout) }},
		{"  helm upgrade, one after the other", func() error { return c.changed(ctx, "upgraded", c.upgradeInTurn) }},
		{"  helm rollback, all at once", func() error { return c.changed(ctx, "rolled back", func() error { return c.rollback(upgraded) }) }},
		{"  helm upgrade, all at once", func() error { return c.changed(ctx, "upgraded again", c.upgradeAtOnce) }},
	}
	for _, s := range steps {
		if err := step(s.what, s.do); err != nil {
			return err
		}
	}
	return nil
}

// changed runs do under a load of the services that it changes, and fails when a request was lost.
func (c cluster) changed(ctx context.Context, what string, do func() error) error {
	load := slices.DeleteFunc(slices.Clone(reads), func(r request) bool { return !slices.Contains(upgraded, r.service) })
	counts, err := c.underLoad(ctx, load, do)
	if err != nil {
		return err
	}
	return report(what+": "+strings.Join(upgraded, ", "), counts, 0)
}

// buildBefore checks out the previous version beside this one and builds its images.
func (c cluster) buildBefore() (checkout string, err error) {
	commit := c.before
	if commit == "" {
		if commit, err = c.previous(); err != nil {
			return "", err
		}
	}
	checkout = filepath.Join(c.dir, "before")
	if _, err := os.Stat(checkout); err == nil {
		return checkout, nil // left by an earlier run
	}
	if err := c.export(commit, checkout); err != nil {
		return "", err
	}
	fmt.Printf("           the previous version is %s\n", commit)
	return checkout, c.images(checkout, beforeTag, upgraded)
}

// export writes the files of a commit into a folder.
func (c cluster) export(commit, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	archive := folder + ".tar"
	defer os.Remove(archive)
	return errors.Join(command{dir: c.root, args: []string{"git", "archive", "--output", archive, commit}}.run(),
		command{args: []string{"tar", "-xf", archive, "-C", folder}}.run())
}

// previous returns the newest tag before this commit, or without tags the baseline: the newest commit that changed
// VERSION (scripts/e2e/previous has the same rule).
func (c cluster) previous() (string, error) {
	commit, err := command{dir: c.root, args: []string{"git", "describe", "--tags", "--abbrev=0", "HEAD^"}}.output()
	if err != nil {
		commit, err = command{dir: c.root, args: []string{"git", "log", "-1", "--format=%H", "--", "VERSION"}}.output()
	}
	return strings.TrimSpace(commit), err
}

// installBefore installs the charts of the previous version.
func (c cluster) installBefore(checkout string) error {
	for _, name := range upgraded {
		chart := filepath.Join(checkout, "charts", name)
		if err := c.install(name, chart, "--reset-values", "--set", "image.tag="+beforeTag); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) upgradeInTurn() error {
	for _, name := range upgraded {
		if err := c.install(name, "charts/"+name, "--reset-values"); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) upgradeAtOnce() error {
	return atOnce(upgraded, func(name string) error { return c.install(name, "charts/"+name, "--reset-values") })
}

func (c cluster) rollback(names []string) error {
	return atOnce(names, func(name string) error {
		_, err := c.helm("-n", c.space, "rollback", name, "--wait")
		return err
	})
}

func atOnce(names []string, do func(name string) error) error {
	problems := make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() { problems[i] = do(name) })
	}
	group.Wait()
	return errors.Join(problems...)
}
