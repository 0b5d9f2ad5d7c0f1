// Package reap runs the loop that guarantees escalations: it finds waiting reports without a deadline, deadlines that
// passed, and jobs that the task queue lost. It also counts waiting reports.
package reap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

// Config holds the settings of the loop.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"20s"`
	// AdoptWithin is the maximum time since the last change of a report that another program set to wait. Reports
	// unchanged for longer are not adopted.
	AdoptWithin time.Duration `env:"ADOPT_WITHIN" envDefault:"720h"`
}

// Validate rejects an interval with which a lost job is not found within a minute, and an AdoptWithin that is not
// positive.
func (c *Config) Validate() error {
	if c.Interval <= 0 || c.Interval > time.Minute {
		return fmt.Errorf(
			"REAP_INTERVAL is %v: give a duration above zero and at most 1m, within which a lost job is found",
			c.Interval,
		)
	}
	if c.AdoptWithin <= 0 {
		return errors.New("REAP_ADOPT_WITHIN must be above zero")
	}
	return nil
}

// Item identifies a report or, for Overdue, a bill, with its laboratory.
type Item struct {
	LabID int64
	ID    int64
}

// Figures count the waiting reports of all laboratories.
type Figures struct {
	Open, Overdue int64
	Exhausted     int64 // waiting reports without a further escalation
	Oldest        time.Duration
}

// Store finds inconsistencies.
type Store interface {
	// Lead calls work if this process is or becomes the leader.
	Lead(ctx context.Context, work func(context.Context) error) error
	// Find returns at most limit reports with an inconsistency of a kind, or bills for Overdue. It omits reports that
	// another program set to waiting and that did not change after changedAfter, and values that have been unclear or
	// unconfirmed since before it.
	Find(ctx context.Context, kind string, changedAfter time.Time, limit int) ([]Item, error)
	// Upcoming returns the earliest future deadline of each of at most limit bills with an id above after, ordered by
	// bill.
	Upcoming(ctx context.Context, after int64, limit int) ([]callout.Deadline, error)
	// Figures counts waiting reports. A report is overdue when one of its deadlines has passed.
	Figures(ctx context.Context, now time.Time) (Figures, error)
}

// Evaluator evaluates reports. *evaluate.UseCase is one.
type Evaluator interface {
	Reports(ctx context.Context, scope authn.LabScope, ids []int64, e callout.Event) ([]evaluate.Result, error)
	// Due evaluates the overdue reports of a bill, and returns the level of the highest escalation sent.
	Due(ctx context.Context, scope authn.LabScope, billID int64) (level int, err error)
}

// Reach checks whether laboratories can be reached by notices again.
type Reach interface {
	RunOnce(ctx context.Context) error
}

// Jobs recreates jobs that the task queue lost.
type Jobs interface {
	Ensure(ctx context.Context, scope authn.LabScope, deadlines []callout.Deadline) error
}

// Counters counts repairs and sets the gauges of waiting reports.
type Counters interface {
	Reaped(what string, n int)
	// Waiting sets the gauges of the leader; f is nil in other processes.
	Waiting(f *Figures)
}

// Kinds of inconsistencies, used as labels of the counter.
const (
	Unadopted   = "unadopted"   // waiting reports without an episode, and open episodes of reports that do not wait
	Gone        = "gone"        // reports with an open episode that were dismissed or deleted
	Overdue     = "overdue"     // bills with a report whose deadline or reminder time has passed
	Unclear     = "unclear"     // reports with a value that has been unclear for longer than the escalation time
	Unconfirmed = "unconfirmed" // reports with a rerun value that has been unconfirmed for longer than the escalation time
	Slow        = "slow"        // reports with an earlier or another deadline under the laboratory's present settings
)

// Kinds returns all kinds of inconsistencies.
func Kinds() []string { return []string{Unadopted, Gone, Overdue, Unclear, Unconfirmed, Slow} }

// Deps are the dependencies of the loop.
type Deps struct {
	Config    Config
	Store     Store
	Evaluator Evaluator
	Reach     Reach
	Jobs      Jobs
	Clock     clock.Clock
	Log       *slog.Logger
	Counters  Counters
}

// Reaper finds inconsistencies and repairs them, in a loop.
type Reaper struct{ d Deps }

// New returns a loop with the dependencies d.
func New(d Deps) *Reaper { return &Reaper{d} }

const batch = 500

// JobTime is how long after a deadline the task queue's job may still arrive.
const JobTime = 5 * time.Second

// RunOnce makes one pass if this process is the leader. If a step fails, the other steps still run.
func (r *Reaper) RunOnce(ctx context.Context) error {
	led := false
	err := r.d.Store.Lead(ctx, func(ctx context.Context) error {
		led = true
		var failed error
		for _, kind := range []string{Unadopted, Gone, Unclear, Unconfirmed, Slow} {
			failed = errors.Join(failed, r.reports(ctx, kind))
		}
		return errors.Join(failed, r.overdue(ctx), r.jobs(ctx), r.d.Reach.RunOnce(ctx), r.figures(ctx))
	})
	if !led {
		r.d.Counters.Waiting(nil)
	}
	return err
}

// reports evaluates the reports with inconsistencies of a kind.
func (r *Reaper) reports(ctx context.Context, kind string) error {
	items, err := r.d.Store.Find(ctx, kind, r.d.Clock.Now().Add(-r.d.Config.AdoptWithin), batch)
	if err != nil {
		return err
	}
	r.d.Counters.Reaped(kind, len(items))
	return byLab(items, func(scope authn.LabScope, ids []int64) error {
		_, err := r.d.Evaluator.Reports(ctx, scope, ids, callout.Event{})
		return err
	})
}

// overdue escalates overdue bills whose job did not arrive.
func (r *Reaper) overdue(ctx context.Context) error {
	items, err := r.d.Store.Find(ctx, Overdue, time.Time{}, batch)
	if err != nil {
		return err
	}
	return byLab(items, func(scope authn.LabScope, bills []int64) error {
		var all error
		for _, bill := range bills {
			level, err := r.d.Evaluator.Due(ctx, scope, bill)
			if level > 0 {
				r.d.Counters.Reaped(Overdue, 1)
				r.d.Log.WarnContext(ctx, "escalation was due, its job did not arrive", "bill_id", bill, "level", level)
			}
			all = errors.Join(all, err)
		}
		return all
	})
}

func (r *Reaper) jobs(ctx context.Context) error {
	for after := int64(0); ; {
		deadlines, err := r.d.Store.Upcoming(ctx, after, batch)
		if err != nil || len(deadlines) == 0 {
			return err
		}
		after = deadlines[len(deadlines)-1].BillID
		labs := map[int64][]callout.Deadline{}
		for _, d := range deadlines {
			labs[d.LabID] = append(labs[d.LabID], d)
		}
		for lab, some := range labs {
			scope, err := authn.Principal{Kind: authn.Service}.Scope(lab)
			if err != nil {
				return err
			}
			if err := r.d.Jobs.Ensure(ctx, scope, some); err != nil {
				return err
			}
		}
	}
}

func (r *Reaper) figures(ctx context.Context) error {
	f, err := r.d.Store.Figures(ctx, r.d.Clock.Now())
	if err == nil {
		r.d.Counters.Waiting(&f)
	}
	return err
}

// byLab calls work once per laboratory, even after errors, and returns all errors.
func byLab(items []Item, work func(authn.LabScope, []int64) error) error {
	labs := map[int64][]int64{}
	var order []int64
	for _, i := range items {
		if labs[i.LabID] == nil {
			order = append(order, i.LabID)
		}
		labs[i.LabID] = append(labs[i.LabID], i.ID)
	}
	var all error
	for _, lab := range order {
		scope, err := authn.Principal{Kind: authn.Service}.Scope(lab)
		if err == nil {
			err = work(scope, labs[lab])
		}
		all = errors.Join(all, err)
	}
	return all
}
