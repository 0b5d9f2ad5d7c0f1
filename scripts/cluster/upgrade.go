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

// upgraded are the deployables that the check takes back to the release before: the edge, and two of those behind it.
var upgraded = []string{"cellcounter", "billsplit", "gateway"}

// beforeTag is of the images of the release before.
const beforeTag = "before"

// checkUpgrade goes from the release before to this one, back and again, while people work.
func checkUpgrade(ctx context.Context, c cluster) error {
	var checkout string
	steps := []struct {
		what string
		do   func() error
	}{
		{"  the release before: its images", func() (err error) { checkout, err = c.buildBefore(); return err }},
		{"  the release before: installed", func() error { return c.installBefore(checkout) }},
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

// changed runs do under load of the services that it changes. Nothing may be lost.
func (c cluster) changed(ctx context.Context, what string, do func() error) error {
	load := slices.DeleteFunc(slices.Clone(reads), func(r request) bool { return !slices.Contains(upgraded, r.service) })
	counts, err := c.underLoad(ctx, load, do)
	if err != nil {
		return err
	}
	return report(what+": "+strings.Join(upgraded, ", "), counts, 0)
}

// buildBefore checks the release before out beside this one, and makes its images.
func (c cluster) buildBefore() (checkout string, err error) {
	commit := c.before
	if commit == "" {
		commit = c.lastRelease()
	}
	checkout = filepath.Join(c.dir, "before")
	if _, err := os.Stat(checkout); err == nil {
		return checkout, nil // of an earlier run of this check
	}
	if err := c.export(commit, checkout); err != nil {
		return "", err
	}
	fmt.Printf("           the release before is %s\n", commit)
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

// lastRelease is the newest tag before this commit, or where there is none a commit of some time ago.
func (c cluster) lastRelease() string {
	tag, err := command{dir: c.root, args: []string{"git", "describe", "--tags", "--abbrev=0", "HEAD^"}}.output()
	if err != nil {
		return "HEAD~100"
	}
	return strings.TrimSpace(tag)
}

// installBefore installs the charts of then with what they needed then: the one user of the database.
func (c cluster) installBefore(checkout string) error {
	for _, name := range upgraded {
		args := []string{
			"-n",
			c.space,
			"upgrade",
			"--install",
			name,
			filepath.Join(checkout, "charts", name),
			"--reset-values",
			"--wait",
			"--set",
			"image.tag=" + beforeTag,
		}
		if name != "gateway" {
			args = append(args, "--set", "cache.connectionType=standalone,database.user=lab_owner",
				"--set", "secretKeys.DB_PASSWORD.name=database-owner,secretKeys.DB_PASSWORD.key=DB_PASSWORD")
		}
		if _, err := c.helm(args...); err != nil {
			return errors.Join(err, c.whyNot(name))
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
