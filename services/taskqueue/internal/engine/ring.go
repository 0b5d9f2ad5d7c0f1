package engine

import (
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// RingPlace is how far TendRings got on a shard; the zero value is the beginning.
type RingPlace struct{ lane, score int64 }

// ringSteps are at most about two milliseconds of Redis.
const ringSteps = 500

// TendRings puts the flows that wait in a shard's lanes into the lanes' rings, a few hundred at a time, and returns
// where the next call continues. Every script that adds a job does this for its own; the rest is what a previous
// version enqueued.
func (r *Redis) TendRings(ctx context.Context, shard int, from RingPlace) (RingPlace, error) {
	keys := keysOf(shard).lanesAndRings(job.Lanes()...)
	parts, err := r.list(ctx, "rings", keys, []any{from.lane + 1, from.score, ringSteps}, 2, 0)
	if err != nil {
		return from, err
	}
	if next := number(parts[0]); next > 0 {
		return RingPlace{next - 1, number(parts[1])}, nil
	}
	return RingPlace{}, nil
}
