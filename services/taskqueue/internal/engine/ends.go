package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Ends are ended jobs that wait for the archive, oldest first. A job that ended, was revived and ended again is
// there twice.
type Ends struct {
	Forgotten int64 // how many were forgotten before these; TrimEnds compares it
	IDs       []job.ID
}

// OldestEnds lists up to most ends of a shard.
func (r *Redis) OldestEnds(ctx context.Context, shard, most int) (Ends, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	k := &r.shards[shard]
	pipe := r.rdb.TxPipeline()
	count := pipe.Get(ctx, k.endsGone)
	page := pipe.LRange(ctx, k.ends, 0, int64(most)-1)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return Ends{}, fmt.Errorf("list ended jobs: %w", err)
	}
	var e Ends
	var err error
	if e.Forgotten, err = count.Int64(); err != nil && !errors.Is(err, redis.Nil) {
		return Ends{}, fmt.Errorf("list ended jobs: %w", err)
	}
	for _, text := range page.Val() {
		e.IDs = append(e.IDs, job.ID(text))
	}
	return e, nil
}

// TrimEnds forgets observed ends, unless somebody else did; it reports whether they went.
func (r *Redis) TrimEnds(ctx context.Context, shard int, observed Ends) (bool, error) {
	k := &r.shards[shard]
	reply, err := r.repeat(ctx, "trim_ends", []string{k.ends, k.endsGone}, []any{observed.Forgotten, len(observed.IDs)})
	return number(reply) > 0, err
}
