// Package allocation limits the memory that a function allocates, for parsers of untrusted input: a short input must
// not need much memory, nor allocate and free it again and again.
package allocation

import (
	"runtime/metrics"
	"testing"
	"time"
)

// longest is the last pause before work counts as too expensive. Allocations of other goroutines are measured as well,
// such as those of the fuzzing engine and of earlier tests; the pauses let them end.
const longest = 4 * time.Second

// AtMost fails the test if work allocates more than limit bytes each time, freed meanwhile or not.
// Small objects are counted in batches, so a limit below a megabyte means little; with the race detector limits are
// three times as high. work runs once, or again after a growing pause when it exceeds the limit.
func AtMost(t testing.TB, limit int, work func()) {
	t.Helper()
	limit *= slack
	for pause := time.Millisecond; ; pause *= 4 {
		before := allocated()
		work()
		used := allocated() - before
		if used <= uint64(limit) {
			return
		}
		if pause > longest {
			t.Errorf("%d KiB were allocated, want at most %d", used>>10, limit>>10)
			return
		}
		time.Sleep(pause)
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
