// Package engine owns what the other test kits share: how a test learns where an engine is, and what happens when
// there is none.
package engine

import (
	"os"
	"testing"
)

// Missing skips the test and says why, or fails it when LAB_REQUIRE_ENGINES=1 promises that every engine is
// there. It never returns.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if Setting("LAB_REQUIRE_ENGINES") == "1" {
		t.Fatalf("%s (LAB_REQUIRE_ENGINES=1 makes this a failure)", reason)
	}
	t.Skip(reason)
}

// Setting returns the value of a LAB_TEST_ or LAB_ variable, "" when it is not set.
func Setting(name string) string {
	return os.Getenv(name)
}
