// Package previous owns which commit upgrades are tested from, and its programs: the last tag before this commit,
// without one the baseline, which is the newest commit that changed the file VERSION. That commit may be the present
// one. The rule needs the history: a shallow clone has no baseline.
package previous

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrShallow is returned in a clone without the history that names the previous version.
var ErrShallow = errors.New("this clone is shallow, so it does not have the previous version: git fetch --unshallow --tags")

// Commit returns the commit of the previous version.
func Commit(ctx context.Context) (string, error) {
	shallow, err := git(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return "", err
	}
	if shallow == "true" {
		return "", ErrShallow
	}
	if tag, err := git(ctx, "describe", "--tags", "--abbrev=0", "HEAD^"); err == nil {
		return tag, nil
	}
	commit, err := git(ctx, "log", "-1", "--format=%H", "--", ":/VERSION")
	if err == nil && commit == "" {
		err = errors.New("no commit has changed the file VERSION")
	}
	return commit, err
}

// Build builds the services' programs of a commit into a folder, from a checkout of its own.
func Build(ctx context.Context, commit, programs string, services []string) error {
	root, err := git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	source, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(source)
	const script = `git -C "$1" archive "$2" | tar -x -C "$3"`
	checkout := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script, "checkout", root, commit, source)
	if _, err := run(checkout); err != nil {
		return err
	}
	args := []string{"build", "-o", programs + string(filepath.Separator)}
	for _, service := range services {
		folder := "./services/" + service
		if service == "gateway" {
			folder = "./gateway"
		}
		args = append(args, folder+"/cmd/"+service)
	}
	build := exec.CommandContext(ctx, "go", args...)
	build.Dir = source
	_, err = run(build)
	return err
}

func git(ctx context.Context, args ...string) (string, error) {
	return run(exec.CommandContext(ctx, "git", args...))
}

// run returns what a command says; of one that fails, in the error.
func run(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
