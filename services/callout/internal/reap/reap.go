// Package reap owns the loop that no critical result is lost to: it finds reports that wait without a clock, clocks
// whose deadline passed while nobody looked, and jobs that the task queue lost.
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

// Config holds the pace of the loop.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"20s"`
	// AdoptWithin is how fresh a report must be whose state was set by somebody else: what waits for years is history.
	AdoptWithin time.Duration `env:"ADOPT_WITHIN" envDefault:"720h"`
}

// Validate refuses a loop that would not find a lost job within a minute.
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

// Item is a report or a bill of a laboratory.
type Item struct {
	LabID int64
	ID    int64
}

// Store finds what is out of line. Each method returns at most limit items, those that waited longest first.
type Store interface {
	// Lead runs work while this process leads.
	Lead(ctx context.Context, work func(context.Context) error) error
	// Orphans are reports that wait and have no episode, and reports that have one and do not wait.
	Orphans(ctx context.Context, changedAfter time.Time, limit int) ([]Item, error)
	// Ghosts ends the episodes of reports that were dismissed or are called already, and moves those of reports that went
	// to another bill. It returns the bills concerned.
	Ghosts(ctx context.Context, now time.Time, limit int) ([]Item, error)
	// Unclocked are bills with episodes and without a running clock, and bills with a clock and without an episode.
	Unclocked(ctx context.Context, limit int) ([]Item, error)
	// Overdue are bills whose deadline has passed.
	Overdue(ctx context.Context, now time.Time, limit int) ([]Item, error)
	// Running are the clocks whose deadline is to come, with a bill above after, by bill.
	Running(ctx context.Context, after int64, limit int) ([]callout.Escalation, error)
}

// Evaluator evaluates reports.
type Evaluator interface {
	Reports(ctx context.Context, scope authn.LabScope, ids []int64) ([]evaluate.Result, error)
}

// Escalator looks after the clocks of bills.
type Escalator interface {
	Bill(ctx context.Context, scope authn.LabScope, billID int64) (level int, err error)
	Settle(ctx context.Context, scope authn.LabScope, billID int64) error
}

// Jobs makes lost jobs again.
type Jobs interface {
	Ensure(ctx context.Context, scope authn.LabScope, clocks []callout.Escalation) error
}

// Counters counts repairs.
type Counters interface {
	Reaped(what string, n int)
}

// What is repaired, as the counter calls it.
const (
	Orphan    = "orphan"
	Ghost     = "ghost"
	Unclocked = "unclocked"
	Overdue   = "overdue"
)

// Repairs lists them.
func Repairs() []string { return []string{Orphan, Ghost, Unclocked, Overdue} }

// Deps is what the loop works with.
type Deps struct {
	Config    Config
	Store     Store
	Evaluator Evaluator
	Escalator Escalator
	Jobs      Jobs
	Clock     clock.Clock
	Log       *slog.Logger
	Counters  Counters
}

// Reaper is the loop.
type Reaper struct{ d Deps }

// New returns the loop.
func New(d Deps) *Reaper { return &Reaper{d} }

const batch = 500

// RunOnce makes one pass if this process leads. A step that fails does not keep the others from running.
func (r *Reaper) RunOnce(ctx context.Context) error {
	return r.d.Store.Lead(ctx, func(ctx context.Context) error {
		return errors.Join(r.orphans(ctx), r.ghosts(ctx), r.unclocked(ctx), r.overdue(ctx), r.jobs(ctx))
	})
}

func (r *Reaper) orphans(ctx context.Context) error {
	items, err := r.d.Store.Orphans(ctx, r.d.Clock.Now().Add(-r.d.Config.AdoptWithin), batch)
	if err != nil {
		return err
	}
	r.d.Counters.Reaped(Orphan, len(items))
	return byLab(items, func(scope authn.LabScope, ids []int64) error {
		_, err := r.d.Evaluator.Reports(ctx, scope, ids)
		return err
	})
}

func (r *Reaper) ghosts(ctx context.Context) error {
	items, err := r.d.Store.Ghosts(ctx, r.d.Clock.Now(), batch)
	r.d.Counters.Reaped(Ghost, len(items))
	return errors.Join(err, r.settle(ctx, items))
}

func (r *Reaper) unclocked(ctx context.Context) error {
	items, err := r.d.Store.Unclocked(ctx, batch)
	r.d.Counters.Reaped(Unclocked, len(items))
	return errors.Join(err, r.settle(ctx, items))
}

func (r *Reaper) settle(ctx context.Context, items []Item) error {
	return byLab(items, func(scope authn.LabScope, bills []int64) error {
		var all error
		for _, bill := range bills {
			all = errors.Join(all, r.d.Escalator.Settle(ctx, scope, bill))
		}
		return all
	})
}

// overdue is what makes the deadline certain: the job of the task queue makes it punctual.
func (r *Reaper) overdue(ctx context.Context) error {
	items, err := r.d.Store.Overdue(ctx, r.d.Clock.Now(), batch)
	if err != nil {
		return err
	}
	return byLab(items, func(scope authn.LabScope, bills []int64) error {
		var all error
		for _, bill := range bills {
			level, err := r.d.Escalator.Bill(ctx, scope, bill)
			if level > 0 {
				r.d.Counters.Reaped(Overdue, 1)
				r.d.Log.WarnContext(ctx, "an escalation was due and its job had not come", "bill_id", bill, "level", level)
			}
			all = errors.Join(all, err)
		}
		return all
	})
}

func (r *Reaper) jobs(ctx context.Context) error {
	for after := int64(0); ; {
		clocks, err := r.d.Store.Running(ctx, after, batch)
		if err != nil || len(clocks) == 0 {
			return err
		}
		after = clocks[len(clocks)-1].BillID
		labs := map[int64][]callout.Escalation{}
		for _, c := range clocks {
			labs[c.LabID] = append(labs[c.LabID], c)
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

// byLab calls work for each laboratory, whatever becomes of the others.
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
