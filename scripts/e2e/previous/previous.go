// Package previous owns which commit is the release before, and its programs.
package previous

import (
	"context"
	_ "embed" // untagged
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed commit
var untagged string

// ErrShallow reports that a clone lacks the release before.
var ErrShallow = errors.New("this clone is shallow: it lacks the release before")

// Commit returns that of the release before: the last tag, without one what the file commit says.
func Commit(ctx context.Context) (commit string, err error) {
	commit, err = git(ctx, "describe", "--tags", "--abbrev=0", "HEAD^")
	if err != nil {
		for line := range strings.Lines(untagged) {
			if !strings.HasPrefix(line, "#") {
				commit = strings.TrimSpace(line)
			}
		}
	}
	if _, err := git(ctx, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("%w, %s", ErrShallow, commit)
	}
	return commit, nil
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
