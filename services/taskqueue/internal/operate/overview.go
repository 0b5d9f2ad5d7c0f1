package operate

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Overview is the queue at one glance.
type Overview struct {
	Now     time.Time
	Lanes   []engine.Depth // summed over the shards
	Backlog engine.Backlog
	Paused  map[engine.Target]time.Time
	Holds   engine.Holds // destinations that fail or asked to be left alone
}

// Overview measures all lanes. It costs the same however many jobs wait.
func (o *Operator) Overview(ctx context.Context) (Overview, error) {
	lanes := make([]engine.Depth, len(job.Lanes()))
	out := Overview{Now: o.Clock.Now(), Lanes: lanes, Paused: map[engine.Target]time.Time{}}
	for shard := range job.Shards {
		if err := o.measure(ctx, shard, &out); err != nil {
			return Overview{}, unavailable(err)
		}
	}
	var err error
	if out.Holds, err = o.Queue.Holds(ctx); err != nil {
		return Overview{}, unavailable(err)
	}
	return out, nil
}

func (o *Operator) measure(ctx context.Context, shard int, out *Overview) error {
	list, err := o.Queue.Depths(ctx, shard)
	if err != nil {
		return err
	}
	for i, d := range list { // in the order of job.Lanes
		sum := &out.Lanes[i]
		sum.Lane = d.Lane
		sum.Waiting, sum.Ready, sum.Running = sum.Waiting+d.Waiting, sum.Ready+d.Ready, sum.Running+d.Running
		sum.Begun, sum.Attempts, sum.Faults = sum.Begun+d.Begun, sum.Attempts+d.Attempts, sum.Faults+d.Faults
		sum.OldestMs = max(sum.OldestMs, d.OldestMs)
	}
	b, err := o.Queue.Backlog(ctx, shard)
	if err != nil {
		return err
	}
	out.Backlog.Dead, out.Backlog.Ends = out.Backlog.Dead+b.Dead, out.Backlog.Ends+b.Ends
	paused, err := o.Queue.Paused(ctx, shard)
	if err != nil {
		return err
	}
	for target, at := range paused {
		if first, known := out.Paused[target]; !known || at.Before(first) {
			out.Paused[target] = at
		}
	}
	return nil
}

// AheadHours is how far the schedule is told hour by hour.
const AheadHours = 48

// Ahead counts by hour what waits for a later time, from the beginning of the present hour on.
func (o *Operator) Ahead(ctx context.Context) (first time.Time, sum engine.Ahead, err error) {
	first = o.Clock.Now().UTC().Truncate(time.Hour)
	sum.Hours = make([]int64, AheadHours)
	for shard := range job.Shards {
		depths, err := o.Queue.Depths(ctx, shard)
		if err != nil {
			return first, sum, unavailable(err)
		}
		for _, d := range depths {
			if d.Waiting == d.Ready {
				continue
			}
			a, err := o.Queue.Ahead(ctx, shard, d.Lane, first, AheadHours)
			if err != nil {
				return first, sum, unavailable(err)
			}
			for i, n := range a.Hours {
				sum.Hours[i] += n
			}
			sum.Later, sum.Partial = sum.Later+a.Later, sum.Partial || a.Partial
		}
	}
	return first, sum, nil
}
