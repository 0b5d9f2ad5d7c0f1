package operate

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Overview is the queue at one glance.
type Overview struct {
	engine.Totals
	Now time.Time
}

// Overview measures the queue.
func (o *Operator) Overview(ctx context.Context) (Overview, error) {
	t, err := engine.Total(ctx, o.Queue)
	if err != nil {
		return Overview{}, unavailable(err)
	}
	return Overview{Totals: t, Now: o.Clock.Now()}, nil
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
