package engine

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Depths returns the numbers of jobs on a shard by lane, and of its dead letters and archive queue.
func (r *Redis) Depths(ctx context.Context, shard int) (Depths, error) {
	k, lanes := keysOf(shard), job.Lanes()
	keys, args := append(k.all(deadKey, endsKey), k.lanesAndRings(lanes...)...), make([]any, len(lanes))
	for i, l := range lanes {
		keys, args[i] = append(keys, k.leases(l.Channel), k.counts(l.Channel)), int(l.Priority)
	}
	const head, each = 2, 7
	parts, err := r.list(ctx, "depths", keys, args, head+each*len(lanes), 0)
	if err != nil {
		return Depths{}, err
	}
	d := Depths{Lanes: make([]Depth, len(lanes)), Dead: number(parts[0]), Ends: number(parts[1])}
	for i, l := range lanes {
		p := parts[head+each*i:]
		d.Lanes[i] = Depth{Lane: l, Waiting: number(p[0]), Ready: number(p[1]), OldestMs: number(p[2]), Running: number(p[3]),
			Begun: number(p[4]), Attempts: number(p[5]), Faults: number(p[6])}
	}
	return d, nil
}

// Measured is the part of the engine used by Total.
type Measured interface {
	Depths(ctx context.Context, shard int) (Depths, error)
	Paused(ctx context.Context, shard int) (map[Target]time.Time, error)
	Holds(ctx context.Context) (Holds, error)
}

// Totals holds the sums over all shards and the current pauses.
type Totals struct {
	Depths
	Paused map[Target]time.Time // read from shard 0, because all shards have the same pauses
	Holds  Holds
}

// Total measures all shards. Its cost is independent of the number of waiting jobs.
func Total(ctx context.Context, q Measured) (t Totals, err error) {
	t.Lanes = make([]Depth, len(job.Lanes()))
	for shard := range job.Shards {
		d, err := q.Depths(ctx, shard)
		if err != nil {
			return t, err
		}
		for i := range d.Lanes {
			t.Lanes[i].add(d.Lanes[i])
		}
		t.Dead, t.Ends = t.Dead+d.Dead, t.Ends+d.Ends
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
