// Package allocation bounds what a function allocates, for parsers of foreign bytes: a short input must not cost a lot of
// memory, nor the time to allocate it again and again.
package allocation

import (
	"runtime/metrics"
	"testing"
)

// AtMost fails the test if work allocates more than limit bytes, whether they are freed meanwhile or not. Other goroutines
// count too. Small objects are counted in batches, so a limit below a megabyte means little.
func AtMost(t testing.TB, limit int, work func()) {
	t.Helper()
	before := allocated()
	work()
	if used := allocated() - before; used > uint64(limit) {
		t.Errorf("%d KiB were allocated, want at most %d", used>>10, limit>>10)
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
