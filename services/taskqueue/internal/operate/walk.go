package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// StepSize is the number of jobs read per call.
const StepSize = 500

// ranges returns the ranges in which jobs of the filter may be. A laboratory's jobs are in few flows, so that many jobs
// of another one need not be read.
func (f Filter) ranges() (list []engine.Range) {
	flows := []job.Flow{engine.AllFlows}
	if f.LabID != 0 {
		flows = append(job.LabFlows(f.LabID), job.FlowPlatform, job.FlowUnknown)
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

// place is a position in the ranges of a filter.
type place struct {
	at    int
	after engine.Member
}

func (p place) String() string { return fmt.Sprintf("%d:%d:%s", p.at, p.after.Score, p.after.ID) }

func parsePlace(text string) (p place, err error) {
	if text == "" {
		return place{}, nil
	}
	at, rest, _ := strings.Cut(text, ":")
	score, id, found := strings.Cut(rest, ":")
	var wrong [3]error
	p.at, wrong[0] = strconv.Atoi(at)
	p.after.Score, wrong[1] = strconv.ParseInt(score, 10, 64)
	if id != "" {
		p.after.ID, wrong[2] = job.ParseID(id)
	}
	if !found || errors.Join(wrong[:]...) != nil || p.at < 0 || p.after.Score < 0 {
		return place{}, apperr.InvalidField("cursor", "the cursor is not one of this page; search again")
	}
	return p, nil
}

// match is a job selected by a filter, and where it was found.
type match struct {
	*manage.Job
	entry engine.Member
}

// walk reads up to most jobs from a cursor on and passes the selected ones to take, until take reports that it has
// enough. next is the cursor to continue from; it is empty at the end.
func (o *Operator) walk(
	ctx context.Context, f Filter, cursor string, most int, take func(match) (enough bool),
) (looked int, next string, err error) {
	p, err := parsePlace(cursor)
	if err != nil {
		return 0, "", err
	}
	ranges := f.ranges()
	for p.at < len(ranges) && looked < most {
		room := min(StepSize, most-looked)
		page, err := o.Queue.Browse(ctx, ranges[p.at], p.after, room)
		if err != nil {
			return looked, "", engine.Unavailable(err)
		}
		jobs, err := o.look(ctx, page)
		if err != nil {
			return looked, "", err
		}
		for i, entry := range page {
			looked++
			p.after = entry
			if jobs[i] != nil && f.Selects(jobs[i]) && take(match{jobs[i], entry}) {
				return looked, p.String(), nil
			}
		}
		if len(page) < room {
			p = place{at: p.at + 1}
		}
	}
	if p.at < len(ranges) {
		next = p.String()
	}
	return looked, next, nil
}

// look reads the jobs of a page from Redis, not from the archive. Deleted jobs are nil.
func (o *Operator) look(ctx context.Context, page []engine.Member) ([]*manage.Job, error) {
	if len(page) == 0 {
		return nil, nil
	}
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = string(page[i].ID)
	}
	return o.Jobs.Find(ctx, everybody, ids)
}

const (
	searchLooks = 10 * StepSize // per request
	pageSize    = 50            // jobs per response
)

// Found is one page of search results.
type Found struct {
	Jobs   []Job  `json:"jobs"`
	Looked int    `json:"looked"`
	Next   string `json:"next"` // cursor to continue from; empty at the end
}

// Search finds jobs from a cursor on. It reads a limited number of jobs per call: a result without jobs but with a
// cursor means that none has been found so far.
func (o *Operator) Search(ctx context.Context, x Order) (Found, error) {
	f, err := x.Filter()
	if err != nil {
		return Found{}, err
	}
	out := Found{Jobs: []Job{}}
	out.Looked, out.Next, err = o.walk(ctx, f, x.Cursor, searchLooks, func(one match) bool {
		out.Jobs = append(out.Jobs, jobOf(one.Job))
		return len(out.Jobs) == pageSize
	})
	return out, err
}
