package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// axe loads the script once per test binary.
var axe = sync.OnceValues(func() ([]byte, error) {
	const script = "node_modules/axe-core/axe.min.js"
	folder, err := filepath.Abs("../tools/axe")
	if _, missing := os.Stat(folder); err == nil && missing != nil { // the test's folder is one level deeper
		folder, err = filepath.Abs("../../tools/axe")
	}
	if err != nil {
		return nil, err
	}
	if text, err := os.ReadFile(filepath.Join(folder, script)); err == nil {
		return text, nil
	}
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
	install.Dir, install.Stderr = folder, os.Stderr
	if err := install.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(folder, script))
})

// Axe returns axe-core, the script that checks the accessibility of a page, for tests in scripts/e2e. It is installed
// from npm; without npm the test is skipped, or fails with LAB_REQUIRE_ENGINES=1.
func Axe(t *testing.T) string {
	t.Helper()
	text, err := axe()
	switch {
	case err != nil && os.Getenv("LAB_REQUIRE_ENGINES") == "1":
		t.Fatalf("axe-core cannot be installed: %v", err)
	case err != nil:
		t.Skipf("ACCESSIBILITY IS NOT JUDGED: axe-core cannot be installed: %v", err)
	}
	return string(text)
}
