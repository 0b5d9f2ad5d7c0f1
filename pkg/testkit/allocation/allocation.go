// Package allocation bounds what a function allocates, for parsers of foreign bytes: a short input must not cost a lot
// of memory, nor the time to allocate it again and again.
package allocation

import (
	"runtime/metrics"
	"testing"
)

// runs is how often work is measured before it counts as too expensive: other goroutines, such as the fuzzing engine,
// are measured with it.
const runs = 3

// AtMost fails the test if work allocates more than limit bytes each time, freed meanwhile or not.
// Small objects are counted in batches, so a limit below a megabyte means little. work runs once, or again when it
// exceeds the limit.
func AtMost(t testing.TB, limit int, work func()) {
	t.Helper()
	used := uint64(0)
	for range runs {
		before := allocated()
		work()
		if used = allocated() - before; used <= uint64(limit) {
			return
		}
	}
	t.Errorf("%d KiB were allocated, want at most %d", used>>10, limit>>10)
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
