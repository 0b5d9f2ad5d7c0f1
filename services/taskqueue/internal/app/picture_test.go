package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/documents"
)

var (
	picturedName = regexp.MustCompile(`\b([a-z]+(?:/[a-z]+)*)\.([A-Z]\w+)`)
	picturedPath = regexp.MustCompile(`\b(?:channel|delivery|worker|janitor)/[a-z]+(?:\.go)?`)
	firstStops   = regexp.MustCompile(`─► (\w+) ──`)
)

// TestTheWayOfAJobInTheDesignNamesWhatThereIs checks that all packages, files and types in the diagram of a job's way
// exist.
func TestTheWayOfAJobInTheDesignNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(documents.Read(t, "taskqueue.md"), "## The life of a claim\n")
	_, rest, _ = strings.Cut(rest, "```\n")
	picture, _, found := strings.Cut(rest, "```\n")
	names, paths := picturedName.FindAllStringSubmatch(picture, -1), picturedPath.FindAllString(picture, -1)
	if stop := firstStops.FindStringSubmatch(picture); stop != nil {
		paths = append(paths, stop[1])
	}
	if !found || len(names) < 5 || len(paths) < 6 {
		t.Fatalf("the picture is not there: %d names, %d paths", len(names), len(paths))
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join("..", path)); err != nil {
			t.Errorf("the picture names %s: %v", path, err)
		}
	}
	for _, name := range names {
		folders, err := filepath.Glob("../" + name[1] + "/*.go")
		inside, below := filepath.Glob("../*/" + name[1] + "/*.go")
		declares := false
		for _, file := range append(folders, inside...) {
			source, err := os.ReadFile(file)
			declares = declares || err == nil && regexp.MustCompile(`(?m)^type `+name[2]+`\b`).Match(source)
		}
		if err != nil || below != nil || !declares {
			t.Errorf("the picture names %s, which no one declares", name[0])
		}
	}
}
