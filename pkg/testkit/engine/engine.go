// Package engine owns one decision for the other test kits: what happens to a test whose engine is absent.
package engine

import (
	"os"
	"testing"
)

// Missing skips the test and says why, or fails it when LAB_REQUIRE_ENGINES=1 promises that every engine is
// there. It never returns.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("LAB_REQUIRE_ENGINES") == "1" {
		t.Fatalf("%s (LAB_REQUIRE_ENGINES=1 makes this a failure)", reason)
	}
	t.Skip(reason)
}
