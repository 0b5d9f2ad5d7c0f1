// Package documents reads pages of docs/design for tests that compare them with the code.
package documents

import (
	"os"
	"path/filepath"
	"testing"
)

// Digest is the variable with a digest of all pages, set by scripts/test.sh. The go command caches the results of tests
// and does not see files outside their module, but it does see variables that a test reads.
const Digest = "LAB_DOCUMENTS"

// Read returns the text of a page of docs/design.
func Read(t testing.TB, page string) string {
	t.Helper()
	_ = os.Getenv(Digest)
	folder, err := os.Getwd()
	for err == nil {
		text, readErr := os.ReadFile(filepath.Join(folder, "docs", "design", page))
		if readErr == nil {
			return string(text)
		}
		if folder == filepath.Dir(folder) {
			err = readErr
		}
		folder = filepath.Dir(folder)
	}
	t.Fatalf("read page %s of docs/design: %v", page, err)
	return ""
}
