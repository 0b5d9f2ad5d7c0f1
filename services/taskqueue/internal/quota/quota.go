// Package quota limits how many bytes of a laboratory may wait. One process measures the waiting bytes every few
// seconds for all processes. Each process adds what it accepted and claimed since. Several processes together may
// accept more than the limit in between.
package quota

import (
	"context"
	"maps"
	"sync"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const (
	// largest is the size assumed for a stored job that was not measured: 64 KiB of payload, and its other fields.
	largest = 128 << 10
	// unmeasured is the divisor of the quota for the bytes that flows with few jobs in each lane may have without being
	// measured.
	unmeasured = 4
	// reservedPart is the divisor of a laboratory's bytes for the part that each of its two reserved flows has for itself:
	// one-time passwords and urgent notices.
	reservedPart  = 16
	reservedFlows = 2
	// leastReserved is the smallest reserved part. A notice with three addressees takes about 2 KiB, so it fits whatever
	// the quota is.
	leastReserved = 64 << 10
)

// Sizes measures waiting jobs and shares the result among processes.
type Sizes interface {
	FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error)
	NoteFlowBytes(ctx context.Context, sizes map[job.Flow]int64) error
	FlowBytes(ctx context.Context) (map[job.Flow]int64, error)
}

// Bytes counts the waiting bytes of each flow. Its methods may be called from several goroutines, RunOnce from one.
type Bytes struct {
	sizes Sizes
	most  int64

	mu       sync.Mutex // guards the fields below
	measured map[job.Flow]int64
	since    map[job.Flow]int64 // bytes accepted less bytes claimed since the measurement began
}

// New returns a quota of most bytes for each laboratory, with reserved parts for one-time passwords and urgent notices.
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

// Measure publishes, for all processes, the bytes queued by the flows that have enough jobs to matter.
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

// Fits reports whether n more bytes of a flow may wait. The platform's own calls always fit; a nil quota has no limit.
func (q *Bytes) Fits(flow job.Flow, n int64) bool {
	if q == nil || flow == job.FlowPlatform {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.measured[flow]+q.since[flow]+n <= limitOf(q.most, flow)
}

// limitOf returns how many of a laboratory's most bytes a flow may use. No flow can use the part of another one.
func limitOf(most int64, flow job.Flow) int64 {
	if flow.Reserved() {
		return max(most/reservedPart, leastReserved)
	}
	return most - reservedFlows*(most/reservedPart)
}

// Add counts n more bytes of a flow as waiting; n is negative when jobs were claimed.
func (q *Bytes) Add(flow job.Flow, n int64) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.since[flow] += n
}
