// Package browser drives a browser in the tests of pages.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const installTimeout = 5 * time.Minute

// Open starts the browser with an empty profile and returns the context of its first tab. The browser ends with the
// test.
func Open(t *testing.T) context.Context {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(Chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.WindowSize(1200, 800),
	}
	for _, quiet := range []string{"disable-quic", "disable-background-networking", "disable-component-update",
		"disable-sync", "no-default-browser-check", "disable-dev-shm-usage"} {
		options = append(options, chromedp.Flag(quiet, true))
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	return ctx
}

// Chromium returns the path of the browser. If there is none it is installed from Debian; where that is not possible
// the test is skipped with the reason, or fails with LAB_REQUIRE_ENGINES=1.
func Chromium(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("chromium"); err == nil {
		return path
	}
	problem := "no chromium on PATH and no right to install it: apt-get install chromium"
	if os.Geteuid() == 0 {
		ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c",
			"apt-get update -q && apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends chromium")
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		out, err := cmd.CombinedOutput()
		if path, found := exec.LookPath("chromium"); err == nil && found == nil {
			return path
		}
		problem = fmt.Sprintf("no chromium on PATH, and installing it ended with %v:\n%.2000s", err, out)
	}
	if os.Getenv("LAB_REQUIRE_ENGINES") == "1" {
		t.Fatal(problem)
	}
	t.Skip("A PAGE IS NOT TESTED: " + problem)
	return ""
}
