// Package sweep runs the loop that evaluates reports whose inputs changed without a request to evaluate them. It limits
// the delay after a lost request to a few minutes.
package sweep

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

// Config holds the settings of the loop.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"1m"`
	// Settled is the minimum age of a change. A younger change may still be followed by a request to evaluate the report.
	Settled time.Duration `env:"SETTLED" envDefault:"3m"`
	// Lookback is how far a pass overlaps with the previous one. A change has the time at which it was made, but becomes
	// visible only when its transaction commits.
	Lookback time.Duration `env:"LOOKBACK" envDefault:"1h"`
}

// Validate rejects settings with which the loop could miss changes.
func (c *Config) Validate() error {
	if c.Interval <= 0 || c.Settled <= 0 || c.Lookback <= c.Settled+c.Interval {
		return errors.New("SWEEP_INTERVAL and SWEEP_SETTLED must be above zero, and SWEEP_LOOKBACK longer than both together")
	}
	return nil
}

// Report is a report that has not been evaluated with its present inputs.
type Report struct {
	LabID, ID int64
	ChangedAt time.Time
}

// Input is an input of evaluations that has no update time: the time zone of a laboratory, or the ranges of a test.
type Input struct {
	Kind   string
	ID     int64
	Digest int64
}

// Kinds of inputs.
const (
	Zone = "zone"
	Test = "test"
)

// Inputs finds inputs that changed since the last evaluations.
type Inputs interface {
	ChangedInputs(ctx context.Context) ([]Input, error)
	// OfInput returns reports that depend on an input and that wait or changed after since. They are ordered by id, and
	// their ids are above after.
	OfInput(ctx context.Context, i Input, since time.Time, after int64, limit int) ([]Report, error)
	SaveInput(ctx context.Context, i Input) error
}

// Store finds reports to evaluate.
type Store interface {
	Lead(ctx context.Context, work func(context.Context) error) error
	// Unjudged returns the reports whose row changed before until and that were not evaluated since. They are ordered by
	// time of change and id, and follow the report after.
	Unjudged(ctx context.Context, after Report, until time.Time, limit int) ([]Report, error)
	// Changed returns reports whose values, patient or bill changed in the window and that were evaluated with the
	// previous state. They are ordered by id, and their ids are above after. A change of the patient counts only for
	// reports that changed since recent.
	Changed(ctx context.Context, from, until, recent time.Time, after int64, limit int) ([]Report, error)
	// SweptUntil returns the time up to which all changes were evaluated; zero before the first pass.
	SweptUntil(ctx context.Context) (time.Time, error)
	SaveSweptUntil(ctx context.Context, until time.Time) error
}

// Evaluator evaluates reports. *evaluate.UseCase is one.
type Evaluator interface {
	Reports(ctx context.Context, scope authn.LabScope, ids []int64, e callout.Event) ([]evaluate.Result, error)
}

// Counters counts reports that the loop evaluated.
type Counters interface {
	Swept(reports int)
}

// Sweeper evaluates reports whose inputs changed.
type Sweeper struct {
	config    Config
	store     Store
	inputs    Inputs
	evaluator Evaluator
	clock     clock.Clock
	counters  Counters
}

// New returns a loop that finds reports through s and i and evaluates them with e.
func New(c Config, s Store, i Inputs, e Evaluator, k clock.Clock, n Counters) *Sweeper {
	return &Sweeper{config: c, store: s, inputs: i, evaluator: e, clock: k, counters: n}
}

const (
	batch = 500
	// firstLookback is how far the first pass of a new deployment looks back.
	firstLookback = 24 * time.Hour
	// recently is the maximum time since the last change of a report for a new evaluation after a change of its patient's
	// birth date or sex.
	recently = 30 * 24 * time.Hour
	// maxLookback is how long a report that cannot be evaluated may keep SweptUntil from advancing.
	maxLookback = 7 * 24 * time.Hour
)

// RunOnce makes one pass if this process is the leader. The time up to which changes were evaluated is stored, so that
// changes made while no process ran are found. That time does not advance past the first report that could not be
// evaluated, for at most maxLookback.
func (s *Sweeper) RunOnce(ctx context.Context) error {
	return s.store.Lead(ctx, func(ctx context.Context) error {
		swept, err := s.store.SweptUntil(ctx)
		if err != nil {
			return err
		}
		now := s.clock.Now()
		from := swept.Add(-s.config.Lookback)
		if swept.IsZero() {
			from = now.Add(-firstLookback)
		}
		until := now.Add(-s.config.Settled)
		firstFailed, failed := s.pass(ctx, from, until)
		if err := s.changed(ctx, from, until, now.Add(-recently)); err != nil {
			firstFailed, failed = from, errors.Join(failed, err)
		}
		if !firstFailed.IsZero() && firstFailed.Before(until) {
			until = firstFailed
		}
		if oldest := now.Add(-maxLookback); failed != nil && until.Before(oldest) {
			until = oldest
		}
		if until.After(swept) {
			failed = errors.Join(failed, s.store.SaveSweptUntil(ctx, until))
		}
		return errors.Join(failed, s.configured(ctx, now.Add(-maxLookback)))
	})
}

// pass evaluates the reports whose row changed in the window. It returns the earliest time of change in the first page
// with a report that could not be evaluated; zero if there is none.
func (s *Sweeper) pass(ctx context.Context, from, until time.Time) (firstFailed time.Time, failed error) {
	for after := (Report{ChangedAt: from}); ; {
		reports, err := s.store.Unjudged(ctx, after, until, batch)
		if err != nil {
			if firstFailed.IsZero() {
				firstFailed = after.ChangedAt
			}
			return firstFailed, errors.Join(failed, err)
		}
		if len(reports) == 0 {
			return firstFailed, failed
		}
		if err := s.evaluate(ctx, reports); err != nil {
			failed = errors.Join(failed, err)
			if firstFailed.IsZero() {
				firstFailed = reports[0].ChangedAt
			}
		}
		s.counters.Swept(len(reports))
		after = reports[len(reports)-1]
	}
}

// changed evaluates reports whose values, patient or bill changed since their evaluation.
func (s *Sweeper) changed(ctx context.Context, from, until, recent time.Time) error {
	return s.pages(ctx, func(after int64) ([]Report, error) {
		return s.store.Changed(ctx, from, until, recent, after, batch)
	})
}

// configured evaluates the reports of laboratories whose time zone changed, and of tests whose ranges changed.
func (s *Sweeper) configured(ctx context.Context, since time.Time) error {
	inputs, failed := s.inputs.ChangedInputs(ctx)
	for _, i := range inputs {
		err := s.pages(ctx, func(after int64) ([]Report, error) { return s.inputs.OfInput(ctx, i, since, after, batch) })
		if err == nil {
			err = s.inputs.SaveInput(ctx, i)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// pages reads and evaluates reports page by page until a page is empty.
func (s *Sweeper) pages(ctx context.Context, read func(after int64) ([]Report, error)) (failed error) {
	for after := int64(0); ; {
		reports, err := read(after)
		if err != nil || len(reports) == 0 {
			return errors.Join(failed, err)
		}
		failed = errors.Join(failed, s.evaluate(ctx, reports))
		s.counters.Swept(len(reports))
		after = reports[len(reports)-1].ID
	}
}

func (s *Sweeper) evaluate(ctx context.Context, reports []Report) error {
	labs := map[int64][]int64{}
	for _, r := range reports {
		labs[r.LabID] = append(labs[r.LabID], r.ID)
	}
	var failed error
	for lab, ids := range labs {
		scope, err := authn.Principal{Kind: authn.Service}.Scope(lab)
		if err == nil {
			_, err = s.evaluator.Reports(ctx, scope, ids, callout.Event{})
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
