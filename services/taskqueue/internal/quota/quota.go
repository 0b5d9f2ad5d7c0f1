// Package quota owns how many bytes of a laboratory may wait. They are measured every few seconds and not counted job
// by job, so a laboratory may go beyond its part by what it enqueues in between.
package quota

import (
	"context"
	"sync/atomic"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// largest is more than a stored job has: 64 KiB of payload and what is beside it.
const largest = 128 << 10

// Sizes measures waiting jobs.
type Sizes interface {
	Shards() int
	FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error)
}

// Bytes knows which flows wait with more than their part. Safe for concurrent use, RunOnce in one loop.
type Bytes struct {
	sizes Sizes
	most  int64
	over  atomic.Pointer[map[job.Flow]bool]
}

// New makes a quota of most bytes for each ordinary flow.
func New(sizes Sizes, most int64) *Bytes { return &Bytes{sizes: sizes, most: most} }

// RunOnce measures. Flows with so few jobs that they cannot be over cost nothing.
func (q *Bytes) RunOnce(ctx context.Context) error {
	shards := q.sizes.Shards()
	least := q.most / largest / int64(shards*len(job.Lanes()))
	total := map[job.Flow]int64{}
	for shard := range shards {
		sizes, err := q.sizes.FlowSizes(ctx, shard, int(least))
		if err != nil {
			return err
		}
		for flow, n := range sizes {
			total[flow] += n
		}
	}
	over := map[job.Flow]bool{}
	for flow, n := range total {
		if n > q.most && !flow.Reserved() {
			over[flow] = true
		}
	}
	q.over.Store(&over)
	return nil
}

// Full reports whether a flow waits with more than its part. A nil quota is never full.
func (q *Bytes) Full(flow job.Flow) bool {
	if q == nil {
		return false
	}
	over := q.over.Load()
	return over != nil && (*over)[flow]
}
