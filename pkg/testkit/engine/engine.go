// Package engine provides what the other test kits share: the addresses of engines, and the handling of missing
// engines.
package engine

import (
	"os"
	"testing"
)

// Missing skips the test with reason, or fails it if LAB_REQUIRE_ENGINES=1 states that every engine is available. It
// does not return.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if Setting("LAB_REQUIRE_ENGINES") == "1" {
		t.Fatalf("%s (LAB_REQUIRE_ENGINES=1 makes this a failure)", reason)
	}
	t.Skip(reason)
}

// Setting returns the value of a LAB_TEST_ or LAB_ variable, empty if it is not set.
func Setting(name string) string {
	return os.Getenv(name)
}
