package engine

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Tick is a change of the definition of a periodic job, which may give birth to the job of its tick.
type Tick struct {
	Key        string // of the definition
	Observed   []byte // nil: there was none
	Definition []byte // nil: there is none any more
	Job        *NewJob
}

// Periodic reads the definitions of periodic jobs by their keys. They and the jobs of their ticks are on shard 0.
func (r *Redis) Periodic(ctx context.Context) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	texts, err := r.rdb.HGetAll(ctx, r.shards[0].periodic).Result()
	if err != nil {
		return nil, fmt.Errorf("read periodic jobs: %w", err)
	}
	all := make(map[string][]byte, len(texts))
	for key, text := range texts {
		all[key] = []byte(text)
	}
	return all, nil
}

// Tick reports whether the definition was the observed one; otherwise nothing is done. The job is as durable as one
// of Enqueue. Safe to call again.
func (r *Redis) Tick(ctx context.Context, t Tick) (bool, error) {
	k := &r.shards[0]
	keys, args := []string{k.periodic}, []any{t.Key, t.Observed, t.Definition}
	if t.Job != nil {
		lane := t.Job.ID.Lane()
		keys = append(keys, k.lanes[lane], k.bells[lane.Channel], k.bodyOf(t.Job.ID))
		args = append(args, string(t.Job.ID), t.Job.Body, min(t.Job.DueMs, job.LatestDueMs), t.Job.Flow.Base())
	}
	reply, err := r.repeatConfirmed(ctx, "tick", keys, args)
	return number(reply) == 1, err
}
