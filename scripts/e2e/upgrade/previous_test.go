package upgrade

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// release returns the commit of the release before. A clone that lacks it skips the test.
func release(t *testing.T) string {
	t.Helper()
	commit := named(t)
	if err := exec.CommandContext(t.Context(), "git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		t.Skipf("this clone is shallow: it lacks %s, the release before", commit)
	}
	return commit
}

// named returns the last tag, without one the commit of the file previous.
func named(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "describe", "--tags", "--abbrev=0", "HEAD^").Output()
	if tag := strings.TrimSpace(string(out)); err == nil && tag != "" {
		return tag
	}
	text, err := os.ReadFile("previous")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	t.Fatal("the file previous names no commit")
	return ""
}

// buildPrevious builds the programs of the release before, from a checkout of its own, and returns their folder.
func buildPrevious(t *testing.T, commit string, services []string) string {
	t.Helper()
	source, programs := filepath.Join(t.TempDir(), "source"), t.TempDir()
	archive := exec.CommandContext(t.Context(), "bash", "-c", `mkdir "$3" && git -C "$1" archive "$2" | tar -x -C "$3"`, "checkout", root, commit, source)
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{"build", "-o", programs}
	for _, service := range services {
		folder := "./services/" + service
		if service == "gateway" {
			folder = "./gateway"
		}
		args = append(args, folder+"/cmd/"+service)
	}
	build := exec.CommandContext(t.Context(), "go", args...)
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", commit, err, out)
	}
	t.Logf("the release before is %s", commit)
	return programs
}
