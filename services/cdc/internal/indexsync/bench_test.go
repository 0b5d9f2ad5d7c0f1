package indexsync_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

// BenchmarkSink writes events of b.N patients to a real index, in batches of 500 from several partitions.
func BenchmarkSink(b *testing.B) {
	const size = 500
	for _, partitions := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			s := enginetest.Ensured(b)
			w := newWorld()
			sink := indexsync.NewSink(indexsync.Deps{Lookup: s, Writer: newWriter(s, &observed{}, config()), Phases: w, Tables: w,
				Versions: document.RevVersions{}, Clock: clock.System{}})
			records := make([]change.Record, b.N)
			for i := range records {
				n := int64(i + 1)
				records[i] = event(change.Create, projection.Row{UserID: n, LabID: 1 + n%20, Rev: 1_790_000_000_000_000 + n, FullName: fmt.Sprint("Lakshmi Choudhury ", n),
					SampleIDs: []string{fmt.Sprint("S-", n, "/1"), fmt.Sprint("S-", n, "/2")}})
			}
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range partitions {
				all.Go(func() {
					for from := int(next.Add(size)) - size; from < b.N; from = int(next.Add(size)) - size {
						if _, err := sink.Apply(b.Context(), records[from:min(from+size, b.N)]); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
