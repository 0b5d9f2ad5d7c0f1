package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Pause lets nobody claim from a channel until Resume. Every shard has a mark of its own, so that a claim asks no other
// node; when one cannot be set, a repeat sets the others again.
func (r *Redis) Pause(ctx context.Context, c job.Channel, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.onEveryShard(ctx, func(k *shardKeys) error {
		if err := r.rdb.HSetNX(ctx, k.paused, c.String(), at.UnixMilli()).Err(); err != nil {
			return fmt.Errorf("pause channel %s: %w", c, err)
		}
		return nil
	})
}

// Resume ends the pause of a channel.
func (r *Redis) Resume(ctx context.Context, c job.Channel) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.onEveryShard(ctx, func(k *shardKeys) error {
		if err := r.rdb.HDel(ctx, k.paused, c.String()).Err(); err != nil {
			return fmt.Errorf("resume channel %s: %w", c, err)
		}
		return nil
	})
}

// Paused tells since when the paused channels of a shard are.
func (r *Redis) Paused(ctx context.Context, shard int) (map[job.Channel]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	marks, err := r.rdb.HGetAll(ctx, r.shards[shard].paused).Result()
	if err != nil {
		return nil, fmt.Errorf("read paused channels: %w", err)
	}
	paused := make(map[job.Channel]time.Time, len(marks))
	for _, c := range job.Channels() {
		if text, ok := marks[c.String()]; ok {
			ms, _ := strconv.ParseInt(text, 10, 64) // a mark is a mark, whatever its time says
			paused[c] = time.UnixMilli(ms)
		}
	}
	return paused, nil
}
