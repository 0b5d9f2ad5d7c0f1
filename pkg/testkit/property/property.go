// Package property owns from which seed properties are tested: `make test` says the same every time, from one fixed
// seed; `make test-long` (LAB_LONG_TESTS=1) tries a fresh one, which it prints. A draw that failed once is committed as
// a case of its own, or as the fail file that rapid writes to testdata/rapid and reads from there.
package property

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
)

const (
	seedFlag  = "rapid.seed"
	fixedSeed = 20261120
)

// seed is settled once: rapid keeps it in a flag of the process, which tests that run at once may only read.
var seed = sync.OnceValues(func() (string, error) {
	if given := flag.Lookup(seedFlag).Value.String(); given != "0" { // -rapid.seed or RAPID_SEED
		return given, nil
	}
	chosen := uint64(fixedSeed)
	if engine.Setting("LAB_LONG_TESTS") == "1" {
		chosen = rand.Uint64()
	}
	text := strconv.FormatUint(chosen, 10)
	return text, flag.Set(seedFlag, text)
})

// Check is rapid.Check with that seed.
func Check(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	from, err := seed()
	if err != nil {
		t.Fatalf("set -%s: %v", seedFlag, err)
	}
	t.Logf("from -%s=%s", seedFlag, from)
	rapid.Check(t, prop)
}
