package reaper

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const (
	weighEvery = 10 * time.Second // how often the bytes of the dead are estimated
	mostPages  = 40               // that one pass forgets of a shard
)

// trim forgets the dead that are too old, and the oldest of whoever has most while they are too many or too large:
// nobody pushes out what another laboratory may still want to retry.
func (r *Reaper) trim(ctx context.Context, shard int) error {
	total, err := r.trimOld(ctx, shard)
	if err != nil {
		return err
	}
	now := r.Clock.Now()
	if total <= r.cfg.MaxDead && now.Sub(r.weighed[shard]) < weighEvery {
		return nil
	}
	r.weighed[shard] = now
	for range mostPages {
		list, err := r.surplus(ctx, shard, total)
		if err != nil || len(list) == 0 {
			return err
		}
		went, err := r.forget(ctx, shard, list, total)
		if err != nil || went == 0 {
			return err
		}
		total -= went
	}
	return nil
}

// trimOld returns how many are left.
func (r *Reaper) trimOld(ctx context.Context, shard int) (int64, error) {
	limit := r.Clock.Now().Add(-r.cfg.KeepDead).UnixMilli()
	for {
		list, total, err := r.Queue.OldestDead(ctx, shard, limit, page)
		if err != nil || len(list) == 0 {
			return total, err
		}
		went, err := r.forget(ctx, shard, list, total)
		if err != nil || went == 0 || len(list) < page {
			return total - went, err
		}
	}
}

// surplus lists who goes next, none when there is room for all.
func (r *Reaper) surplus(ctx context.Context, shard int, total int64) ([]engine.Dead, error) {
	parts, err := r.Queue.DeadParts(ctx, shard)
	if err != nil {
		return nil, err
	}
	var sum engine.Part
	for _, p := range parts {
		sum.Jobs, sum.Bytes = sum.Jobs+p.Jobs, sum.Bytes+p.Bytes
	}
	if flow, n := r.largest(parts, sum); n > 0 {
		return r.Queue.OldestDeadOf(ctx, shard, flow, int(min(n, page)))
	}
	over := total - r.cfg.MaxDead // those of a former version are in no part
	if over <= 0 || sum.Jobs > r.cfg.MaxDead {
		return nil, nil
	}
	list, _, err := r.Queue.OldestDead(ctx, shard, r.Clock.Now().UnixMilli(), int(min(over, page)))
	return list, err
}

// largest is who has most of what there is too much of, and how many of theirs are too many.
func (r *Reaper) largest(parts map[job.Flow]engine.Part, sum engine.Part) (flow job.Flow, over int64) {
	most := int64(-1)
	measure := func(p engine.Part) int64 { return p.Jobs }
	switch {
	case sum.Jobs > r.cfg.MaxDead:
		over = sum.Jobs - r.cfg.MaxDead
	case sum.Bytes > r.cfg.MaxDeadBytes:
		measure = func(p engine.Part) int64 { return p.Bytes }
	default:
		return 0, 0
	}
	for candidate, p := range parts {
		if n := measure(p); n > most || (n == most && candidate < flow) {
			flow, most = candidate, n
		}
	}
	if over == 0 {
		each := max(1, parts[flow].Bytes/max(1, parts[flow].Jobs))
		over = (sum.Bytes-r.cfg.MaxDeadBytes)/each + 1
	}
	return flow, over
}

// forget archives dead jobs and takes them out of Redis. While the archive is away they wait, up to twice their number.
func (r *Reaper) forget(ctx context.Context, shard int, list []engine.Dead, total int64) (int64, error) {
	if r.Keeper != nil {
		ids := make([]job.ID, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		if err := r.Keeper.Keep(ctx, ids); err != nil {
			r.Log.WarnContext(ctx, "old failed jobs wait: the archive does not take them", "jobs", len(ids), "error", err)
			if total <= 2*r.cfg.MaxDead {
				return 0, nil
			}
		}
	}
	went, err := r.Queue.TrimDead(ctx, shard, list)
	if err != nil {
		return 0, fmt.Errorf("trim dead jobs: %w", err)
	}
	return went, nil
}
