package engine

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// List is a sorted set of jobs on a shard.
type List int

// Lists, by the state of their jobs. Scores are due times, fencing tokens and end times.
const (
	ListLane   List = iota // waiting jobs, by flow and due time
	ListLeases             // running jobs of a channel, by the end of their leases
	ListDead               // failed and unknown jobs, by the time of their end; those of one flow are scored as in a lane
)

// AllFlows selects all flows of a lane or of the dead letters.
const AllFlows job.Flow = -1

// Range is a part of one list on one shard: the jobs of one flow, or those up to a time.
type Range struct {
	Shard int
	List  List
	Lane  job.Lane // ListLeases uses only the channel; ListDead ignores it
	Flow  job.Flow // ListLane, ListDead: only this flow; or AllFlows
	Until int64    // ListDead: only jobs that ended until then, in ms; 0: all
}

// Bounds returns the lowest and the highest score in the range.
func (x Range) Bounds() (low, high int64) {
	base := int64(0)
	low, high = 0, 1<<53-1
	if x.List != ListLeases && x.Flow != AllFlows {
		base = x.Flow.Base()
		low, high = int64(x.Flow)*job.FlowSpan, int64(x.Flow+1)*job.FlowSpan-1
	}
	if x.Until > 0 {
		high = min(high, base+x.Until)
	}
	return low, high
}

// TimeOf returns the time in a score of the range; for ListLeases, the fencing token. The dead letters of all flows are
// ordered only by time.
func (x Range) TimeOf(score int64) int64 {
	if x.List == ListLeases || x.List == ListDead && x.Flow == AllFlows {
		return score
	}
	return job.DueOfScore(score)
}

// Member is one entry of a list. It is also the cursor of a scan, which continues after it.
type Member struct {
	ID    job.ID
	Score int64
	Time  int64 // derived from the score by Range.TimeOf
}

// Browse returns up to most members of a range after a cursor, ordered by score and id; the zero Member starts at the
// beginning. A scan returns every member that stays in the list for its whole duration, regardless of other changes.
func (r *Redis) Browse(ctx context.Context, x Range, after Member, most int) ([]Member, error) {
	k := keysOf(x.Shard)
	key := k.lane(x.Lane)
	switch {
	case x.List == ListLeases:
		key = k.leases(x.Lane.Channel)
	case x.List == ListDead && x.Flow == AllFlows:
		key = k.the(deadKey)
	case x.List == ListDead:
		key = k.the(deadFlowsKey)
	}
	low, high := x.Bounds()
	parts, err := r.list(ctx, "browse", []string{key}, []any{max(low, after.Score), high, string(after.ID), most}, 0, 2)
	list := make([]Member, 0, len(parts)/2)
	for p := range slices.Chunk(parts, 2) {
		score := whole(text(p[1]))
		list = append(list, Member{ID: job.ID(text(p[0])), Score: score, Time: x.TimeOf(score)})
	}
	return list, err
}

// Ahead counts the scheduled jobs of a lane by the hour in which they are due.
type Ahead struct {
	Hours   []int64 // the first is the rest of the current hour
	Later   int64
	Partial bool // jobs are missing, because counting them would have taken too long
}

const (
	aheadSteps = 500 // steps per script call, about two milliseconds
	aheadCalls = 20  // script calls per lane
)

// Ahead counts the scheduled jobs of a lane for the given number of hours. first is the start of the first hour.
func (r *Redis) Ahead(ctx context.Context, shard int, l job.Lane, first time.Time, hours int) (Ahead, error) {
	a := Ahead{Hours: make([]int64, hours)}
	from := int64(0)
	for range aheadCalls {
		args := []any{first.UnixMilli(), hours, aheadSteps, from}
		parts, err := r.list(ctx, "ahead", []string{keysOf(shard).lane(l)}, args, 2, 2)
		if err != nil {
			return Ahead{}, err
		}
		a.Later += number(parts[1])
		for p := range slices.Chunk(parts[2:], 2) {
			if hour := number(p[0]); hour < int64(hours) {
				a.Hours[hour] += number(p[1])
			}
		}
		if from = number(parts[0]); from < 0 {
			return a, nil
		}
	}
	a.Partial = true
	return a, nil
}
