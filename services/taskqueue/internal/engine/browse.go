package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// List is a kind of sorted set that holds jobs.
type List int

// The lists.
const (
	ListLane   List = iota // waiting jobs, by flow and due time
	ListLeases             // running jobs of a channel, by the end of their leases
	ListDead               // failed and unknown jobs, by the time of their end
)

// AllFlows stands for every flow of a lane.
const AllFlows job.Flow = -1

// Range is a part of one list of one shard.
type Range struct {
	Shard int
	List  List
	Lane  job.Lane // leases: its channel counts; dead: nothing
	Flow  job.Flow // lanes: only this one
}

// Bounds are the lowest and the highest score of the range.
func (x Range) Bounds() (low, high int64) {
	if x.List != ListLane || x.Flow == AllFlows {
		return 0, 1<<53 - 1
	}
	return int64(x.Flow) * job.FlowSpan, int64(x.Flow+1)*job.FlowSpan - 1
}

// Member is one entry of a list. It also says where a walk over the list stands: after it.
type Member struct {
	ID    job.ID
	Score int64
}

// Browse lists the members of a range after a place in it (the zero Member: from the beginning), in order of score and
// id. A walk meets every member that is there all the time, however much comes and goes meanwhile.
func (r *Redis) Browse(ctx context.Context, x Range, after Member, most int) ([]Member, error) {
	k := &r.shards[x.Shard]
	key := k.dead
	switch x.List {
	case ListLane:
		key = k.lanes[x.Lane]
	case ListLeases:
		key = k.leases[x.Lane.Channel]
	case ListDead:
	}
	low, high := x.Bounds()
	low = max(low, after.Score)
	reply, err := r.run(ctx, "browse", []string{key}, []any{low, fmt.Sprintf("(%d", low), high, string(after.ID), most})
	if err != nil {
		return nil, err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts)%2 != 0 {
		return nil, errReply("browse", reply)
	}
	list := make([]Member, 0, len(parts)/2)
	for i := 0; i < len(parts); i += 2 {
		id, _ := parts[i].(string)
		score, _ := parts[i+1].(string)
		value, err := strconv.ParseFloat(score, 64)
		if err != nil {
			return nil, errReply("browse", reply)
		}
		list = append(list, Member{ID: job.ID(id), Score: int64(value)})
	}
	return list, nil
}

// Ahead is what waits for a later time, by hour.
type Ahead struct {
	Hours   []int64 // the first one is the present hour, which has partly gone by
	Later   int64
	Partial bool // there is more, which would have taken too long to count
}

const (
	aheadSteps = 500 // of one script: about two milliseconds
	aheadCalls = 20  // of one lane
)

// Ahead counts what a lane has for the given number of hours from the one that begins at first.
func (r *Redis) Ahead(ctx context.Context, shard int, l job.Lane, first time.Time, hours int) (Ahead, error) {
	a := Ahead{Hours: make([]int64, hours)}
	from := int64(0)
	for range aheadCalls {
		args := []any{first.UnixMilli(), hours, aheadSteps, from}
		reply, err := r.run(ctx, "ahead", []string{r.shards[shard].lanes[l]}, args)
		if err != nil {
			return Ahead{}, err
		}
		parts, ok := reply.([]any)
		if !ok || len(parts) < 2 || len(parts)%2 != 0 {
			return Ahead{}, errReply("ahead", reply)
		}
		a.Later += number(parts[1])
		for i := 2; i < len(parts); i += 2 {
			if hour := number(parts[i]); hour < int64(hours) {
				a.Hours[hour] += number(parts[i+1])
			}
		}
		if from = number(parts[0]); from < 0 {
			return a, nil
		}
	}
	a.Partial = true
	return a, nil
}
