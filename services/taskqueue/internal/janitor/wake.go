package janitor

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// WakeEvery is the time between two reads of the parked jobs. It is short, so that jobs under a rate limit are released
// evenly.
const WakeEvery = 250 * time.Millisecond

const (
	// wakePage is the maximum number of jobs of a group on a shard released per pass after their destination has
	// recovered: about a thousand per second.
	wakePage = 250
	// forgetHeld is how long a pause is kept after its end if no delivery tested the destination. Together with the
	// longest pause after failures it is shorter than the ten minutes of the alert QueueProviderPaused, so that a
	// provider without traffic at night is not reported as unresponsive. A provider may request a longer pause.
	forgetHeld = 5 * time.Minute
)

// parked is a group of parked jobs on a shard.
type parked struct {
	engine.Group
	shard int
}

// waker is the state passed from one pass over the parked jobs to the next.
type waker struct {
	looked  time.Time
	held    map[job.Destination]engine.Held
	credits map[job.Destination]float64 // deliveries that a rate limit still allows
	turn    int
}

// Wake releases parked jobs: all for a destination whose pause ended, one for a destination that may be tested again,
// and as many as a rate limit allows. The leader of shard 0 does this for all shards. Other jobs become due when their
// delay ends.
func (j *Janitor) Wake(ctx context.Context) error {
	if !j.Leads(0) {
		return nil
	}
	holds, err := j.Queue.Holds(ctx)
	if err != nil {
		return err
	}
	paused, err := j.Queue.Paused(ctx, 0)
	if err != nil {
		return err
	}
	waiting := map[job.Destination][]parked{}
	problems := eachShard(func(shard int) error {
		groups, err := j.Queue.Groups(ctx, shard)
		for _, g := range groups {
			waiting[g.To] = append(waiting[g.To], parked{g, shard})
		}
		return err
	})
	w := &j.waker
	now, last := j.Clock.Now(), *w
	w.looked, w.held, w.credits = now, holds.Held, map[job.Destination]float64{}
	w.turn++
	for to, groups := range waiting {
		most := 0
		if rate, is := to.Rate(); is {
			w.credits[to] = min(max(rate, 1), last.credits[to]+rate*now.Sub(last.looked).Seconds())
			most = int(w.credits[to])
		} else if _, is := paused[engine.Target(to)]; !is {
			most = allowed(to, holds, last.held)
		}
		went, err := j.wake(ctx, groups, most)
		if w.credits[to] > 0 {
			w.credits[to] -= float64(went)
		}
		problems = errors.Join(problems, err)
	}
	return errors.Join(problems, j.forgetHolds(ctx, holds))
}

// allowed returns how many jobs for a destination may be released: all if nothing they wait for is paused, or if one of
// these pauses has ended since the last pass; otherwise one per paused destination that may be tested.
func allowed(to job.Destination, now engine.Holds, before map[job.Destination]engine.Held) int {
	held, tries := 0, 0
	for d, one := range now.Held {
		if to.Waits(d) {
			held++
			if one.UntilMs <= now.NowMs {
				tries++
			}
		}
	}
	for d := range before {
		if _, still := now.Held[d]; to.Waits(d) && !still {
			return math.MaxInt
		}
	}
	if held == 0 {
		return math.MaxInt
	}
	return tries
}

// wake releases up to most jobs of the groups: reserved flows first, then the others in turn.
func (j *Janitor) wake(ctx context.Context, groups []parked, most int) (went int, err error) {
	slices.SortFunc(groups, func(a, b parked) int { // reserved flows have lower numbers
		return cmp.Or(cmp.Compare(a.Flow, b.Flow), cmp.Compare(a.shard, b.shard))
	})
	first := slices.IndexFunc(groups, func(g parked) bool { return !g.Flow.Reserved() })
	if first >= 0 {
		others := groups[first:]
		turn := j.waker.turn % len(others)
		groups = slices.Concat(groups[:first], others[turn:], others[:turn])
	}
	each := min(wakePage, max(1, most/len(groups)))
	for i := 0; i < len(groups) && went < most; i++ {
		n, failed := j.Queue.Unpark(ctx, groups[i].shard, groups[i].Group, min(each, most-went))
		went, err = went+n, errors.Join(err, failed)
	}
	return went, err
}

// forgetHolds deletes pauses that ended some time ago without a delivery that tested the destination.
func (j *Janitor) forgetHolds(ctx context.Context, h engine.Holds) error {
	var problems error
	for to, one := range h.Held {
		if one.UntilMs < h.NowMs-forgetHeld.Milliseconds() {
			problems = errors.Join(problems, j.Queue.FreeHeld(ctx, to))
		}
	}
	return problems
}
