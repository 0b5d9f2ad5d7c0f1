// Package previous finds and builds the version that upgrades are tested from: the last tag before this commit, or,
// without a tag, the newest commit that changed the file VERSION, which may be this one. The rule needs the whole
// history, so it fails in a shallow clone.
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

// ErrShallow is returned in a shallow clone, whose history does not reach the previous version.
var ErrShallow = errors.New("this clone is shallow, so it does not have the previous version: git fetch --unshallow --tags")

// Commit returns the tag or the commit hash of the previous version.
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

// Build compiles the services' programs of a commit into a folder. The checkout stays in the user's cache folder: the
// compiler's cache depends on the path of the source, so a second build of the same commit only links.
func Build(ctx context.Context, commit, programs string, services []string) error {
	source, err := checkout(ctx, commit)
	if err != nil {
		return err
	}
	args := []string{"build", "-buildvcs=false", "-o", programs + string(filepath.Separator)}
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

// checkout returns a folder with the files of a commit. Several processes may call it concurrently.
func checkout(ctx context.Context, commit string) (string, error) {
	root, err := git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	hash, err := git(ctx, "rev-parse", commit+"^{commit}")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	kept := filepath.Join(cache, "labplatform", "previous", hash)
	if _, err := os.Stat(kept); err == nil {
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return "", err
	}
	begun, err := os.MkdirTemp(filepath.Dir(kept), "begun-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(begun)
	const script = `git -C "$1" archive "$2" | tar -x -C "$3"`
	unpack := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script, "checkout", root, hash, begun)
	if _, err := run(unpack); err != nil {
		return "", err
	}
	if err := os.Rename(begun, kept); err != nil {
		if _, other := os.Stat(kept); other != nil {
			return "", err
		}
	}
	return kept, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	return run(exec.CommandContext(ctx, "git", args...))
}

// run returns the output of a command, without surrounding space. The error of a failed command contains it.
func run(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
