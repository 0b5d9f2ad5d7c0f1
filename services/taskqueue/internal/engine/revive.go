package engine

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Revival asks that a failed job runs again with a new body, if its record is still the observed one.
type Revival struct {
	ID       job.ID
	Body     []byte
	Observed []byte
	Window   string // the job leaves it: nobody joins a job that ran; empty: none
}

// A call of a script stays short, so that others get their turn.
const (
	reviveBatch = 100
	reviveBytes = 256 << 10
)

// RetryFailed revives failed jobs after delay, in batches, each job wholly or not at all; the answers are in the order
// of the list. After an error some may have been revived: the same call again says which.
func (r *Redis) RetryFailed(ctx context.Context, list []Revival, delay time.Duration) ([]bool, error) {
	ids := make([]job.ID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	revived := make([]bool, len(list))
	err := groupByShard(ids, func(shard int, at []int) error {
		for len(at) > 0 {
			n := reviveChunk(list, at)
			if err := r.retryFailed(ctx, &r.shards[shard], list, at[:n], delay, revived); err != nil {
				return err
			}
			at = at[n:]
		}
		return nil
	})
	return revived, err
}

// reviveChunk is how many of the positions go into one call.
func reviveChunk(list []Revival, at []int) int {
	size := 0
	for n, p := range at {
		size += len(list[p].Body) + len(list[p].Observed)
		if n == reviveBatch || (n > 0 && size > reviveBytes) {
			return n
		}
	}
	return len(at)
}

func (r *Redis) retryFailed(
	ctx context.Context, k *shardKeys, list []Revival, at []int, delay time.Duration, revived []bool,
) error {
	keys := []string{k.dead, k.deadInfo, k.crashes, k.deadFlows}
	args := []any{delay.Milliseconds()}
	for _, p := range at {
		one := &list[p]
		body := k.bodyOf(one.ID)
		keys = append(keys, k.lanes[one.ID.Lane()], body, k.windowOr(one.Window, body), k.rings[one.ID.Lane()])
		args = append(args, string(one.ID), one.Body, one.Observed, job.FlowOf(one.Body).Base())
	}
	some, err := answers[int](ctx, r, "retry_failed", keys, args, len(at))
	for i := range some {
		revived[at[i]] = some[i] == 1
	}
	return err
}
