package document_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/externaledit/document"
)

// verdict returns the reason for which a file is rejected, "accepted", or "tracked" for a document with tracked
// changes. It checks that a copy of an accepted document has the report's id and is accepted, too.
func verdict(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := content[:min(document.HeadBytes, len(content))]
	if strings.EqualFold(filepath.Ext(path), ".pdf") {
		if err = document.PDF.CheckHead(head); err == nil {
			err = scan(content, len(content))
		}
		return cmp.Or(reason(err), "accepted")
	}
	if err := document.Word.CheckHead(head); err != nil {
		return reason(err)
	}
	found, err := document.ReadWord(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return reason(err)
	}
	copied := facts(t, copyFor(t, 7001, content))
	if copied != (document.Facts{ReportID: 7001, Tracked: found.Tracked}) {
		t.Errorf("%s is %+v, its copy %+v", path, found, copied)
	}
	if found.Tracked {
		return "tracked"
	}
	return "accepted"
}

// compare checks every document below a folder and compares the verdicts with a table. UPDATE_GOLDEN=1 writes the
// table.
func compare(t *testing.T, root, table string) {
	t.Helper()
	var got strings.Builder
	n := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".docx", ".dotx", ".docm", ".dotm", ".pdf":
		default:
			return err
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		fmt.Fprintf(&got, "%-16s %s\n", verdict(t, path), filepath.ToSlash(name))
		n++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(table, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents", n)
	expected := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		expected[line] = true
	}
	for line := range strings.Lines(got.String()) {
		if !expected[line] {
			t.Errorf("another verdict, or a file that is not in %s: %s", table, line)
		}
		delete(expected, line)
	}
	for line := range expected {
		t.Errorf("missing, or with another verdict: %s", line)
	}
}

// TestRealDocuments compares the verdicts on documents of other programs with a table. testdata/real/README.md states
// their origin.
func TestRealDocuments(t *testing.T) {
	t.Parallel()
	compare(t, "testdata/real", "testdata/real/verdicts.txt")
}

// TestThreeHundredDocuments checks the documents in the folder that LAB_FOREIGN_DOCUMENTS names.
func TestThreeHundredDocuments(t *testing.T) {
	t.Parallel()
	root := os.Getenv("LAB_FOREIGN_DOCUMENTS")
	if root == "" {
		t.Skip("LAB_FOREIGN_DOCUMENTS names no folder: make test-documents fetches them and runs this")
	}
	compare(t, root, "testdata/documents.txt")
}
