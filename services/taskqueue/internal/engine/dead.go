package engine

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Dead is one entry of the failed jobs, oldest first.
type Dead struct {
	ID     job.ID
	DiedMs int64
}

// OldestDead lists up to most failed jobs of a flow, or of AllFlows, that died at or before diedMs, oldest first.
func (r *Redis) OldestDead(ctx context.Context, shard int, flow job.Flow, diedMs int64, most int) ([]Dead, error) {
	k := keysOf(shard)
	part := redis.ZRangeArgs{Key: k.the(deadKey), ByScore: true, Count: int64(most), Start: 0, Stop: diedMs}
	if flow != AllFlows {
		low, high := Range{Flow: flow}.Bounds()
		part.Key, part.Start, part.Stop = k.the(deadFlowsKey), low, min(high, flow.Base()+diedMs)
	}
	pipe := r.rdb.Pipeline()
	page := pipe.ZRangeArgsWithScores(ctx, part)
	if err := r.send(ctx, pipe, "list dead jobs"); err != nil {
		return nil, err
	}
	list := make([]Dead, len(page.Val()))
	for i, z := range page.Val() {
		list[i] = Dead{ID: job.ID(text(z.Member)), DiedMs: int64(z.Score)}
		if flow != AllFlows {
			list[i].DiedMs = job.DueOfScore(int64(z.Score))
		}
	}
	return list, nil
}

// TrimDead forgets the observed dead jobs of one shard, unless they were revived meanwhile.
func (r *Redis) TrimDead(ctx context.Context, shard int, list []Dead) (int64, error) {
	k := keysOf(shard)
	keys, args := k.lives(), make([]any, 0, 2*len(list))
	for _, d := range list {
		keys = append(keys, k.body(d.ID))
		args = append(args, string(d.ID), d.DiedMs)
	}
	reply, err := r.repeat(ctx, "trim_dead", keys, args)
	return number(reply), err
}
