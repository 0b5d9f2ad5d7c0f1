package operate

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// StepSize is how many jobs one step looks at.
const StepSize = 500

// ranges lists where the jobs of a filter may be. A laboratory's jobs are in few flows, so that a flood of another one
// need not be read to find them.
func (f Filter) ranges() (list []engine.Range) {
	flows := []job.Flow{engine.AllFlows}
	if f.LabID != 0 {
		flows = []job.Flow{job.LabFlow(f.LabID), job.OTPFlow(f.LabID), job.FlowPlatform, 0}
	}
	channels := f.Channels
	if len(channels) == 0 {
		channels = job.Channels()
	}
	for shard := range job.Shards {
		if f.wantsAny(job.Failed, job.Unknown) {
			list = append(list, engine.Range{Shard: shard, List: engine.ListDead, Flow: engine.AllFlows})
		}
		for _, c := range channels {
			if f.wants(job.Started) {
				list = append(list, engine.Range{Shard: shard, List: engine.ListLeases, Lane: job.Lane{Channel: c}})
			}
			if !f.wantsAny(job.Scheduled, job.Queued, job.Retrying) {
				continue
			}
			for _, p := range []job.Priority{job.High, job.Moderate, job.Low} {
				for _, flow := range flows {
					list = append(list, engine.Range{Shard: shard, Lane: job.Lane{Channel: c, Priority: p}, Flow: flow})
				}
			}
		}
	}
	return list
}

// place is where a walk over the ranges of a filter stands.
type place struct {
	at    int
	after engine.Member
}

func (p place) String() string { return fmt.Sprintf("%d:%d:%s", p.at, p.after.Score, p.after.ID) }

func parsePlace(text string) (p place, err error) {
	if text == "" {
		return place{}, nil
	}
	wrong := apperr.InvalidField("cursor", "the cursor is not one of this page; search again")
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return place{}, wrong
	}
	p.at, err = strconv.Atoi(parts[0])
	if err != nil || p.at < 0 {
		return place{}, wrong
	}
	if p.after.Score, err = strconv.ParseInt(parts[1], 10, 64); err != nil || p.after.Score < 0 {
		return place{}, wrong
	}
	if parts[2] != "" {
		if p.after.ID, err = job.ParseID(parts[2]); err != nil {
			return place{}, wrong
		}
	}
	return p, nil
}

// match is a job that a filter selects, and where it was found.
type match struct {
	*api.Job
	entry engine.Member
}

// step looks at up to StepSize jobs from a cursor on and returns up to most that the filter selects. next is empty at
// the end of the walk.
func (o *Operator) step(
	ctx context.Context, f Filter, cursor string, most int,
) (found []match, looked int, next string, err error) {
	p, err := parsePlace(cursor)
	if err != nil {
		return nil, 0, "", err
	}
	ranges := f.ranges()
	for ; p.at < len(ranges) && looked < StepSize; p = (place{at: p.at + 1}) {
		room := StepSize - looked
		page, err := o.Queue.Browse(ctx, ranges[p.at], p.after, room)
		if err != nil {
			return nil, 0, "", unavailable(err)
		}
		jobs, err := o.look(ctx, page)
		if err != nil {
			return nil, 0, "", err
		}
		for i, entry := range page {
			looked++
			p.after = entry
			if jobs[i] != nil && f.Selects(jobs[i]) {
				found = append(found, match{jobs[i], entry})
			}
			if len(found) == most {
				return found, looked, p.String(), nil
			}
		}
		if len(page) == room {
			return found, looked, p.String(), nil
		}
	}
	if p.at < len(ranges) {
		next = p.String()
	}
	return found, looked, next, nil
}

// look reads the jobs of a page; nil for those that are gone.
func (o *Operator) look(ctx context.Context, page []engine.Member) ([]*api.Job, error) {
	if len(page) == 0 {
		return nil, nil
	}
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = string(page[i].ID)
	}
	return o.Jobs.Info(ctx, everybody, ids)
}

const (
	searchSteps = 10 // of one request
	pageSize    = 50 // jobs of one answer
)

// Found is one answer of a search.
type Found struct {
	Jobs   []Job  `json:"jobs"`
	Looked int    `json:"looked"`
	Next   string `json:"next"` // the cursor to go on from; empty: that was all
}

// Search finds some jobs from a cursor on. It looks at a bounded number of them: no jobs and a cursor mean that none
// was found so far.
func (o *Operator) Search(ctx context.Context, x Order) (Found, error) {
	f, err := x.Filter()
	if err != nil {
		return Found{}, err
	}
	out := Found{Jobs: []Job{}, Next: x.Cursor}
	for range searchSteps {
		found, looked, next, err := o.step(ctx, f, out.Next, pageSize-len(out.Jobs))
		if err != nil {
			return Found{}, err
		}
		for _, one := range found {
			out.Jobs = append(out.Jobs, jobOf(one.Job))
		}
		out.Looked, out.Next = out.Looked+looked, next
		if next == "" || len(out.Jobs) >= pageSize {
			break
		}
	}
	return out, nil
}
