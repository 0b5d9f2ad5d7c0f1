// Package property owns from which seed properties are tested: `make test` says the same every time, from one fixed
// seed; `make test-long` (LAB_LONG_TESTS=1) tries a fresh one, which it prints. A draw that failed once is committed as
// a case of its own, or as the fail file that rapid writes to testdata/rapid and reads from there.
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

// started settles the seed before the flags are parsed, so that -rapid.seed and RAPID_SEED win, and before any test
// runs: rapid reads the flag whenever it draws, and tests draw at once.
var started = start()

func start() error {
	if flag.Lookup(seedFlag).Value.String() != "0" { // RAPID_SEED
		return nil
	}
	chosen := uint64(fixedSeed)
	if engine.Setting("LAB_LONG_TESTS") == "1" {
		chosen = rand.Uint64()
	}
	return flag.Set(seedFlag, strconv.FormatUint(chosen, 10))
}

// Check is rapid.Check with that seed.
func Check(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	if started != nil {
		t.Fatalf("set -%s: %v", seedFlag, started)
	}
	t.Logf("from -%s=%s", seedFlag, flag.Lookup(seedFlag).Value)
	rapid.Check(t, prop)
}
