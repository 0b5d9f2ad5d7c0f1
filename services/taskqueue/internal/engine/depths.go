package engine

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Depths measures every lane of a shard.
func (r *Redis) Depths(ctx context.Context, shard int) ([]Depth, error) {
	k, lanes := keysOf(shard), job.Lanes()
	keys, args := k.lanesAndRings(lanes...), make([]any, len(lanes))
	for i, l := range lanes {
		keys, args[i] = append(keys, k.leases(l.Channel), k.counts(l.Channel)), int(l.Priority)
	}
	const each = 7
	parts, err := r.list(ctx, "depths", keys, args, each*len(lanes), 0)
	if err != nil {
		return nil, err
	}
	list := make([]Depth, len(lanes))
	for i, l := range lanes {
		p := parts[each*i:]
		list[i] = Depth{Lane: l, Waiting: number(p[0]), Ready: number(p[1]), OldestMs: number(p[2]), Running: number(p[3]),
			Begun: number(p[4]), Attempts: number(p[5]), Faults: number(p[6])}
	}
	return list, nil
}

// Backlog counts what ended and is still kept in Redis for somebody.
func (r *Redis) Backlog(ctx context.Context, shard int) (Backlog, error) {
	k, pipe := keysOf(shard), r.rdb.Pipeline()
	dead, ends := pipe.ZCard(ctx, k.the(deadKey)), pipe.LLen(ctx, k.the(endsKey))
	err := r.send(ctx, pipe, "measure what ended")
	return Backlog{Dead: dead.Val(), Ends: ends.Val()}, err
}

// Measured is what Total asks.
type Measured interface {
	Depths(ctx context.Context, shard int) ([]Depth, error)
	Backlog(ctx context.Context, shard int) (Backlog, error)
	Paused(ctx context.Context, shard int) (map[Target]time.Time, error)
	Holds(ctx context.Context) (Holds, error)
}

// Totals are those of all shards.
type Totals struct {
	Lanes   []Depth // in the order of job.Lanes
	Backlog Backlog
	Paused  map[Target]time.Time // every shard has the same
	Holds   Holds
}

// Total measures all shards. It costs the same however many jobs wait.
func Total(ctx context.Context, q Measured) (t Totals, err error) {
	t.Lanes = make([]Depth, len(job.Lanes()))
	for shard := range job.Shards {
		list, err := q.Depths(ctx, shard)
		if err != nil {
			return t, err
		}
		for i, d := range list {
			t.Lanes[i].add(d)
		}
		b, err := q.Backlog(ctx, shard)
		if err != nil {
			return t, err
		}
		t.Backlog.Dead, t.Backlog.Ends = t.Backlog.Dead+b.Dead, t.Backlog.Ends+b.Ends
	}
	if t.Paused, err = q.Paused(ctx, 0); err != nil {
		return t, err
	}
	t.Holds, err = q.Holds(ctx)
	return t, err
}

func (d *Depth) add(more Depth) {
	d.Lane = more.Lane
	d.Waiting, d.Ready, d.Running = d.Waiting+more.Waiting, d.Ready+more.Ready, d.Running+more.Running
	d.Begun, d.Attempts, d.Faults = d.Begun+more.Begun, d.Attempts+more.Attempts, d.Faults+more.Faults
	d.OldestMs = max(d.OldestMs, more.OldestMs)
}
