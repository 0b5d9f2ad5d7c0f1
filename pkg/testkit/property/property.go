// Package property selects the seed of property tests. `make test` uses one fixed seed and always has the same result;
// `make test-long` (LAB_LONG_TESTS=1) uses a new seed and prints it. Commit a failed draw as a separate case, or as the
// fail file that rapid writes to and reads from testdata/rapid.
package property

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
)

const (
	seedFlag  = "rapid.seed"
	fixedSeed = 20261120
)

// started sets the seed before flags are parsed, so that -rapid.seed and RAPID_SEED take precedence, and before any
// test runs, because rapid reads the flag at every draw and tests draw concurrently.
var started = start()

func start() error {
	if flag.Lookup(seedFlag).Value.String() != "0" { // set by RAPID_SEED
		return nil
	}
	chosen := uint64(fixedSeed)
	if engine.Setting("LAB_LONG_TESTS") == "1" {
		chosen = rand.Uint64()
	}
	return flag.Set(seedFlag, strconv.FormatUint(chosen, 10))
}

// Check runs rapid.Check with the selected seed.
func Check(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	if started != nil {
		t.Fatalf("set -%s: %v", seedFlag, started)
	}
	t.Logf("from -%s=%s", seedFlag, flag.Lookup(seedFlag).Value)
	rapid.Check(t, prop)
}
