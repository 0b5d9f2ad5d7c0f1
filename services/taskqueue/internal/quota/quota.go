// Package quota owns how many bytes of a laboratory may wait. What waits is measured every few seconds and not counted
// job by job; what this process accepted since the last measurement is counted beside it. Several processes together
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
	Shards() int
	FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error)
}

// Bytes knows with how much each flow waits. Safe for concurrent use, RunOnce in one loop.
type Bytes struct {
	sizes Sizes
	most  int64

	mu       sync.Mutex // guards the fields below
	measured map[job.Flow]int64
	accepted map[job.Flow]int64 // since the measurement began
}

// New makes a quota of most bytes for each laboratory, a part of them for its one-time passwords.
func New(sizes Sizes, most int64) *Bytes {
	return &Bytes{sizes: sizes, most: most, measured: map[job.Flow]int64{}, accepted: map[job.Flow]int64{}}
}

// RunOnce measures. Flows with so few jobs that it hardly matters cost nothing.
func (q *Bytes) RunOnce(ctx context.Context) error {
	q.mu.Lock()
	before := maps.Clone(q.accepted)
	q.mu.Unlock()
	shards := q.sizes.Shards()
	least := q.most / largest / unmeasured / int64(shards*len(job.Lanes()))
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
	q.mu.Lock()
	defer q.mu.Unlock()
	q.measured = total
	for flow, n := range before {
		if q.accepted[flow] -= n; q.accepted[flow] <= 0 {
			delete(q.accepted, flow)
		}
	}
	return nil
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
	return q.measured[flow]+q.accepted[flow]+n <= most
}

// Add tells of n bytes that were accepted for a flow.
func (q *Bytes) Add(flow job.Flow, n int64) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.accepted[flow] += n
}
