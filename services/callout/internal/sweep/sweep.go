// Package sweep owns the loop that evaluates reports which changed and which nobody asked to evaluate, so that a
// forgotten call delays a critical result by minutes, never for ever.
package sweep

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

// Config holds the pace of the loop.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"1m"`
	// Settled is how long a report must rest: until then its own call may still come.
	Settled time.Duration `env:"SETTLED" envDefault:"3m"`
	// Lookback is how far back a pass looks; the first pass of a process looks back a day, over its own absence.
	Lookback time.Duration `env:"LOOKBACK" envDefault:"1h"`
}

// Validate refuses a loop that could not find anything.
func (c *Config) Validate() error {
	if c.Interval <= 0 || c.Settled <= 0 || c.Lookback <= c.Settled+c.Interval {
		return errors.New("SWEEP_INTERVAL and SWEEP_SETTLED must be above zero, and SWEEP_LOOKBACK longer than both together")
	}
	return nil
}

// Report is one that nobody judged as it is now.
type Report struct{ LabID, ID int64 }

// Store finds reports.
type Store interface {
	Lead(ctx context.Context, work func(context.Context) error) error
	// Unjudged returns reports that changed in the window after their last evaluation, the earliest change first.
	Unjudged(ctx context.Context, from, to time.Time, limit int) ([]Report, error)
}

// Evaluator evaluates reports.
type Evaluator interface {
	Reports(ctx context.Context, scope authn.LabScope, ids []int64) ([]evaluate.Result, error)
}

// Counters counts what was forgotten.
type Counters interface {
	Swept(reports int)
}

// Sweeper is the loop.
type Sweeper struct {
	config    Config
	store     Store
	evaluator Evaluator
	clock     clock.Clock
	counters  Counters
	warm      bool // a pass has looked back a day
}

// New returns the loop.
func New(c Config, s Store, e Evaluator, k clock.Clock, n Counters) *Sweeper {
	return &Sweeper{config: c, store: s, evaluator: e, clock: k, counters: n}
}

const (
	batch         = 500
	firstLookback = 24 * time.Hour
)

// RunOnce makes one pass if this process leads.
func (s *Sweeper) RunOnce(ctx context.Context) error {
	return s.store.Lead(ctx, func(ctx context.Context) error {
		lookback := s.config.Lookback
		if !s.warm {
			lookback = max(lookback, firstLookback)
		}
		err := s.pass(ctx, s.clock.Now().Add(-lookback))
		s.warm = s.warm || err == nil
		return err
	})
}

func (s *Sweeper) pass(ctx context.Context, from time.Time) error {
	for {
		reports, err := s.store.Unjudged(ctx, from, s.clock.Now().Add(-s.config.Settled), batch)
		if err != nil || len(reports) == 0 {
			return err
		}
		labs := map[int64][]int64{}
		for _, r := range reports {
			labs[r.LabID] = append(labs[r.LabID], r.ID)
		}
		var failed error
		for lab, ids := range labs {
			scope, err := authn.Principal{Kind: authn.Service}.Scope(lab)
			if err == nil {
				_, err = s.evaluator.Reports(ctx, scope, ids)
			}
			failed = errors.Join(failed, err)
		}
		s.counters.Swept(len(reports))
		if failed != nil || len(reports) < batch { // what failed would be found again at once
			return failed
		}
	}
}
