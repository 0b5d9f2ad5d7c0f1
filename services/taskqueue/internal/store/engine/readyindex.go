package engine

import (
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// readySteps limits a script call to about two milliseconds of Redis's time.
const readySteps = 500

// UnlistedFlows counts the flows with waiting jobs that are missing in a shard's ready indexes, or are listed there for
// a later time than that of their first job. Claims do not find such jobs in time.
func (r *Redis) UnlistedFlows(ctx context.Context, shard int) (int, error) {
	return r.compareReadyIndex(ctx, shard, 0)
}

// RepairReadyIndex adds the flows counted by UnlistedFlows to the ready indexes, and returns their number.
func (r *Redis) RepairReadyIndex(ctx context.Context, shard int) (int, error) {
	return r.compareReadyIndex(ctx, shard, 1)
}

func (r *Redis) compareReadyIndex(ctx context.Context, shard, repair int) (unlisted int, err error) {
	keys := keysOf(shard).lanesAndRings(job.Lanes()...)
	for lane, score := int64(1), int64(0); lane > 0; {
		parts, err := r.list(ctx, "readyindex", keys, []any{lane, score, readySteps, repair}, 3, 0)
		if err != nil {
			return unlisted, err
		}
		lane, score, unlisted = number(parts[0]), number(parts[1]), unlisted+int(number(parts[2]))
	}
	return unlisted, nil
}
