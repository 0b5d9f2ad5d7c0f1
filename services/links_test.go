package services_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unnamed = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	tested  = regexp.MustCompile(`\bTest[A-Z]\w{7,}`)
	test    = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// documents returns the paths of all Markdown files of the repository.
func documents(t *testing.T) []string { return files(t, ".md") }

// files returns the paths of all files of the repository whose names have this ending.
func files(t *testing.T, ending string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ending):
			paths = append(paths, strings.TrimPrefix(path, root+"/"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestLinksBetweenDocumentsLeadToAFileAndAHeading(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, document), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(found[1], "#")
			target := filepath.Join(filepath.Dir(document), file)
			if file == "" {
				target = document
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s: want a file, got %v", document, found[1], err)
			} else if anchor != "" && !hasHeading(read(t, target), anchor) {
				t.Errorf("%s links to %s: want a heading with this name in %s, got none", document, found[1], target)
			}
		}
	}
}

// hasHeading reports whether a heading of the text has this anchor on GitHub.
func hasHeading(text, anchor string) bool {
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		name := unnamed.ReplaceAllString(strings.ToLower(found[1]), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestTestsThatDocumentsNameExist checks that each test name in a document is a test's name or its beginning.
func TestTestsThatDocumentsNameExist(t *testing.T) {
	t.Parallel()
	var names []string
	for _, source := range files(t, "_test.go") {
		for _, found := range test.FindAllStringSubmatch(read(t, source), -1) {
			names = append(names, found[1])
		}
	}
	for _, document := range documents(t) {
		for _, name := range tested.FindAllString(read(t, document), -1) {
			if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }) {
				t.Errorf("%s names the test %s, which does not exist", document, name)
			}
		}
	}
}

func TestTheIndexOfDocumentsHasEveryPage(t *testing.T) {
	t.Parallel()
	index := read(t, "docs", "README.md")
	for _, document := range documents(t) {
		page, inDocs := strings.CutPrefix(document, "docs/")
		if !inDocs || page == "README.md" || strings.HasPrefix(page, "adr/0") {
			continue
		}
		if !strings.Contains(index, "]("+page+")") {
			t.Errorf("docs/README.md: want a link to %s, got none", page)
		}
	}
}
