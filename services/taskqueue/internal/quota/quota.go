// Package quota owns how many bytes of a laboratory may wait. One process measures what waits, every few seconds and
// for all; what came and what was claimed in this process since then is counted beside it. Several processes together
// may let a laboratory go beyond its part by what they accept in between.
package quota

import (
	"context"
	"maps"
	"sync"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const (
	// largest is more than a stored job has: 64 KiB of payload and what is beside it.
	largest = 128 << 10
	// unmeasured is the part of the quota, as a divisor, that flows with few jobs in each lane may have unseen.
	unmeasured = 4
	// passwords is the part of a laboratory's bytes, as a divisor, that is for its one-time passwords alone.
	passwords = 16
)

// Sizes measures waiting jobs.
type Sizes interface {
	FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error)
	NoteFlowBytes(ctx context.Context, sizes map[job.Flow]int64) error
	FlowBytes(ctx context.Context) (map[job.Flow]int64, error)
}

// Bytes knows with how much each flow waits. Safe for concurrent use, RunOnce in one loop.
type Bytes struct {
	sizes Sizes
	most  int64

	mu       sync.Mutex // guards the fields below
	measured map[job.Flow]int64
	since    map[job.Flow]int64 // what came, less what was claimed, since the measurement began
}

// New makes a quota of most bytes for each laboratory, a part of them for its one-time passwords.
func New(sizes Sizes, most int64) *Bytes {
	return &Bytes{sizes: sizes, most: most, measured: map[job.Flow]int64{}, since: map[job.Flow]int64{}}
}

// RunOnce reads what one process measured.
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

// Measure measures for all processes, flows with so many jobs that it matters.
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

// Fits reports whether a flow may wait with n bytes more. The platform's own calls always may, and so may everybody
// when there is no quota.
func (q *Bytes) Fits(flow job.Flow, n int64) bool {
	if q == nil || flow == job.FlowPlatform {
		return true
	}
	most := q.most - q.most/passwords
	if flow.Reserved() {
		most = q.most / passwords
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.measured[flow]+q.since[flow]+n <= most
}

// Add tells of n bytes more that wait of a flow, or of less when n is negative.
func (q *Bytes) Add(flow job.Flow, n int64) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.since[flow] += n
}
