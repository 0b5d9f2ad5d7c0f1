package property_test

import (
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/pkg/testkit/property"
)

func draws(t *testing.T) []uint64 {
	t.Helper()
	var all []uint64
	property.Check(t, func(rt *rapid.T) { all = append(all, rapid.Uint64().Draw(rt, "n")) })
	return all
}

func TestEveryCheckDrawsTheSameValues(t *testing.T) {
	t.Parallel()
	first := draws(t)
	if len(first) < 2 || !slices.Equal(first, draws(t)) {
		t.Fatal("two checks of one process drew different values, want the same")
	}
	if engine.Setting("LAB_LONG_TESTS") != "1" && flag.Lookup("rapid.seed").Value.String() != "20261120" {
		t.Fatal("the seed is not the fixed one, want 20261120")
	}
}

// The example and the check read rapid's seed concurrently; run the test with -race.
func TestExampleMayBeDrawnDuringACheck(t *testing.T) {
	t.Parallel()
	if n := rapid.IntRange(1, 9).Example(1); n < 1 || n > 9 {
		t.Fatalf("example = %d, want 1 to 9", n)
	}
}
