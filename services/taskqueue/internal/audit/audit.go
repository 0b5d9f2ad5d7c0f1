package audit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Queue is the part of the engine used by the auditor.
type Queue interface {
	Lease() time.Duration
	Sources(shard int) []engine.Source
	Page(ctx context.Context, s engine.Source, cursor uint64, count int64) (texts []string, next uint64, err error)
	Repair(ctx context.Context, observed engine.Snapshot, record []byte, flow job.Flow) (bool, error)
	Remove(ctx context.Context, s engine.Source, text string) error
	UnlistedFlows(ctx context.Context, shard int) (int, error)
	RepairReadyIndex(ctx context.Context, shard int) (int, error)
	Info(ctx context.Context, ids []job.ID) ([]engine.Snapshot, error)
}

// Observer receives the result of each round for metrics.
type Observer interface {
	Audited(checked int, found []Violation)
}

// Violation is one violated invariant.
type Violation struct {
	Rule   Rule
	Shard  int
	Source engine.Source
	Text   string          // job id, the text found in place of one, or a number of flows
	Job    engine.Snapshot // without body and record; zero for Foreign and Unlisted
}

const (
	sample = 500 // ids checked per round
	shown  = 3   // violations logged per round
)

// Auditor checks the invariants in rounds of about 500 ids. Several processes may each run one: each auditor checks the
// shards that its process leads. RunOnce must not be called concurrently.
type Auditor struct {
	Queue    Queue
	Leads    func(shard int) bool // reports whether this process leads a shard and has to check it
	Observer Observer
	Log      *slog.Logger

	at place
}

// RunOnce checks about 500 further ids. After the last shard it continues with the first. Violations are counted and
// the first ones logged; they are not returned as an error.
func (a *Auditor) RunOnce(ctx context.Context) error {
	checked := 0
	var found []Violation
	for first := true; checked < sample && (first || a.at != place{}); first = false {
		if !a.Leads(a.at.shard) {
			a.at = place{shard: (a.at.shard + 1) % job.Shards}
			continue
		}
		_, n, broken, err := a.at.check(ctx, a.Queue)
		if err != nil {
			return err
		}
		checked, found = checked+n, append(found, broken...)
	}
	a.Observer.Audited(checked, found)
	for _, v := range found[:min(shown, len(found))] {
		a.Log.ErrorContext(ctx, "an invariant of the queue is broken; run `taskqueue fsck`", "rule", string(v.Rule),
			"where", v.Source.Name, "job_id", v.Text)
	}
	return nil
}

// place is the cursor of a scan over all sources on all shards.
type place struct {
	shard, source int
	cursor        uint64
}

// check checks the next page of a source and advances the cursor. At the end of a shard it also checks the ready
// indexes.
func (p *place) check(ctx context.Context, q Queue) (source string, checked int, found []Violation, err error) {
	sources, shard := q.Sources(p.shard), p.shard
	s := sources[p.source]
	texts, next, err := q.Page(ctx, s, p.cursor, sample)
	if err != nil {
		return s.Name, 0, nil, err
	}
	var ids []job.ID
	for _, text := range texts {
		id, err := job.ParseID(text)
		if err != nil || id.Shard() != shard || !s.MayHold(id) {
			found = append(found, Violation{Rule: Foreign, Shard: shard, Source: s, Text: text})
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	jobs, err := q.Info(ctx, slices.Compact(ids))
	if err != nil {
		return s.Name, 0, nil, err
	}
	for _, j := range jobs {
		j.Body, j.Record = nil, nil
		for _, r := range judge(j, q.Lease()) {
			found = append(found, Violation{Rule: r, Shard: shard, Source: s, Text: string(j.ID), Job: j})
		}
	}
	if p.cursor = next; next == 0 {
		p.source++
	}
	if p.source == len(sources) {
		*p = place{shard: (shard + 1) % job.Shards}
		unlisted, err := checkReadyIndex(ctx, q, shard)
		return s.Name, len(texts), append(found, unlisted...), err
	}
	return s.Name, len(texts), found, nil
}

func checkReadyIndex(ctx context.Context, q Queue, shard int) ([]Violation, error) {
	n, err := q.UnlistedFlows(ctx, shard)
	if err != nil || n == 0 {
		return nil, err
	}
	index := engine.Source{Name: "ready index"}
	return []Violation{{Rule: Unlisted, Shard: shard, Source: index, Text: fmt.Sprintf("%d flows", n)}}, nil
}

// Report is the outcome of a check of all jobs.
type Report struct {
	Checked    map[string]int // ids by source; an id in several sources is counted in each
	Violations []Violation    // without duplicates, except of Foreign
}

// Check checks every job. On a busy queue, each job is read atomically, but different jobs are read at different times.
func Check(ctx context.Context, q Queue) (Report, error) {
	all := Report{Checked: map[string]int{}}
	for shard := range job.Shards {
		r, err := CheckShard(ctx, q, shard)
		for name, n := range r.Checked {
			all.Checked[name] += n
		}
		all.Violations = append(all.Violations, r.Violations...)
		if err != nil {
			return all, err
		}
	}
	order := Rules()
	slices.SortStableFunc(all.Violations,
		func(x, y Violation) int { return slices.Index(order, x.Rule) - slices.Index(order, y.Rule) })
	return all, nil
}

// CheckShard checks every job of a shard.
func CheckShard(ctx context.Context, q Queue, shard int) (Report, error) {
	r := Report{Checked: map[string]int{}}
	seen := map[string]bool{}
	for p := (place{shard: shard}); p.shard == shard; {
		source, n, found, err := p.check(ctx, q)
		if err != nil {
			return r, err
		}
		r.Checked[source] += n
		for _, v := range found {
			if key := string(v.Rule) + v.Text; !seen[key] || v.Rule == Foreign {
				seen[key] = true
				r.Violations = append(r.Violations, v)
			}
		}
	}
	return r, nil
}

// Repair removes damaged jobs from the queue and returns their number. Jobs with a body become dead letters, which
// operators can retry. Jobs that changed since they were observed are skipped. A job may violate two rules, so check
// again afterwards.
func Repair(ctx context.Context, q Queue, clk clock.Clock, r Report) (int, error) {
	repaired := 0
	for _, v := range r.Violations {
		done, err := repair(ctx, q, clk, v)
		if err != nil {
			return repaired, fmt.Errorf("repair %s of %s: %w", v.Rule, v.Text, err)
		}
		if done {
			repaired++
		}
	}
	return repaired, nil
}

func repair(ctx context.Context, q Queue, clk clock.Clock, v Violation) (bool, error) {
	switch v.Rule {
	case Foreign:
		return true, q.Remove(ctx, v.Source, v.Text)
	case Unlisted:
		n, err := q.RepairReadyIndex(ctx, v.Shard)
		return n > 0, err
	case StrayTrace:
		return q.Repair(ctx, v.Job, nil, 0)
	case LeaseStale: // the job is sound; its lease was not reaped, which Repair cannot fix
		return false, nil
	}
	snapshots, err := q.Info(ctx, []job.ID{v.Job.ID})
	if err != nil {
		return false, err
	}
	body := &job.Body{CreatedMs: v.Job.ID.CreatedMs()}
	if known, err := job.DecodeBody(snapshots[0].Body); err == nil && len(snapshots[0].Body) > 0 {
		body = known
	}
	body.LastError = "The queue's data was damaged (" + string(v.Rule) + "); an operator repaired it"
	body.LastReason = "repaired"
	record := job.RecordOf(body, job.Failed, clk.Now().UnixMilli())
	return q.Repair(ctx, v.Job, record.Encode(nil), body.Flow)
}
