// Package quota limits how many bytes of a laboratory may wait. One process measures the waiting bytes every few
// seconds for all processes, and each process adds the bytes that it has accepted and claimed since. Between two
// measurements, several processes together may exceed the limit.
package quota

import (
	"context"
	"maps"
	"sync"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const (
	// largest is the assumed size of a stored job that was not measured: 64 KiB of payload and the other fields.
	largest = 128 << 10
	// unmeasured is the divisor of the quota for the bytes that flows with few jobs in each lane may have without being
	// measured.
	unmeasured = 4
	// reservedPart is the divisor of a laboratory's bytes for the reserved part of each of its two reserved flows:
	// one-time passwords and urgent notices.
	reservedPart  = 16
	reservedFlows = 2
	// leastReserved is the minimum reserved part. A notice with three recipients takes about 2 KiB, so it fits with any
	// quota.
	leastReserved = 64 << 10
)

// Sizes measures waiting jobs and shares the result among processes.
type Sizes interface {
	FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error)
	NoteFlowBytes(ctx context.Context, sizes map[job.Flow]int64) error
	FlowBytes(ctx context.Context) (map[job.Flow]int64, error)
}

// Bytes counts the waiting bytes of each flow. It is safe for concurrent use, except RunOnce.
type Bytes struct {
	sizes Sizes
	most  int64

	mu       sync.Mutex // guards the fields below
	measured map[job.Flow]int64
	since    map[job.Flow]int64 // bytes accepted minus bytes claimed since measured was read
}

// New returns a quota of most bytes per laboratory, with reserved parts for one-time passwords and urgent notices.
func New(sizes Sizes, most int64) *Bytes {
	return &Bytes{sizes: sizes, most: most, measured: map[job.Flow]int64{}, since: map[job.Flow]int64{}}
}

// RunOnce reads the last published measurement.
func (q *Bytes) RunOnce(ctx context.Context) error {
	q.mu.Lock()
	before := maps.Clone(q.since)
	q.mu.Unlock()
	measured, err := q.sizes.FlowBytes(ctx)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.measured = measured
	for flow, n := range before {
		q.since[flow] -= n
	}
	return nil
}

// Measure publishes, for all processes, the waiting bytes of the flows with enough jobs to matter.
func (q *Bytes) Measure(ctx context.Context) error {
	least := q.most / largest / unmeasured / int64(job.Shards*len(job.Lanes()))
	total := map[job.Flow]int64{}
	for shard := range job.Shards {
		sizes, err := q.sizes.FlowSizes(ctx, shard, int(least))
		if err != nil {
			return err
		}
		for flow, n := range sizes {
			total[flow] += n
		}
	}
	return q.sizes.NoteFlowBytes(ctx, total)
}

// Fits reports whether n more bytes of a flow may wait. The platform's own calls always fit. A nil quota has no limit.
func (q *Bytes) Fits(flow job.Flow, n int64) bool {
	if q == nil || flow == job.FlowPlatform {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.measured[flow]+q.since[flow]+n <= limitOf(q.most, flow)
}

// limitOf returns how many of a laboratory's most bytes a flow may use. Flows cannot use each other's parts.
func limitOf(most int64, flow job.Flow) int64 {
	if flow.Reserved() {
		return max(most/reservedPart, leastReserved)
	}
	return most - reservedFlows*(most/reservedPart)
}

// Add adds n to the waiting bytes of a flow; n is negative after a claim.
func (q *Bytes) Add(flow job.Flow, n int64) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.since[flow] += n
}
