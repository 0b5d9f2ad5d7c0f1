// Package sweep owns the loop that evaluates reports which changed and which no one asked to evaluate, so that a
// forgotten call delays a critical result by minutes, never for ever.
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

// Config holds the pace of the loop.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"1m"`
	// Settled is how long a report must rest: until then its own call may still come.
	Settled time.Duration `env:"SETTLED" envDefault:"3m"`
	// Lookback is how far a pass looks back behind the last one: a change is dated when it is made, and seen when its
	// transaction ends.
	Lookback time.Duration `env:"LOOKBACK" envDefault:"1h"`
}

// Validate refuses a loop that could not find anything.
func (c *Config) Validate() error {
	if c.Interval <= 0 || c.Settled <= 0 || c.Lookback <= c.Settled+c.Interval {
		return errors.New("SWEEP_INTERVAL and SWEEP_SETTLED must be above zero, and SWEEP_LOOKBACK longer than both together")
	}
	return nil
}

// Report is one that no one judged as it is now.
type Report struct {
	LabID, ID int64
	ChangedAt time.Time
}

// Input is something that judgements depend on and that no row's date tells: the zone of a laboratory, the ranges of a
// test.
type Input struct {
	Kind   string
	ID     int64
	Digest int64
}

// The kinds of inputs.
const (
	Zone = "zone"
	Test = "test"
)

// Inputs compares inputs with those of the last judgements.
type Inputs interface {
	ChangedInputs(ctx context.Context) ([]Input, error)
	// OfInput returns the reports that depend on an input and changed since a time or wait, above an id, by id.
	OfInput(ctx context.Context, i Input, since time.Time, after int64, limit int) ([]Report, error)
	SaveInput(ctx context.Context, i Input) error
}

// Store finds reports.
type Store interface {
	Lead(ctx context.Context, work func(context.Context) error) error
	// Unjudged returns reports that changed in the window after their last evaluation, by change and id, those after the
	// given one.
	Unjudged(ctx context.Context, after Report, until time.Time, limit int) ([]Report, error)
	// Changed returns reports above an id whose values, patient or bill changed in the window and were judged by another
	// state of them, by id; a patient's reports since recent.
	Changed(ctx context.Context, from, until, recent time.Time, after int64, limit int) ([]Report, error)
	// SweptUntil returns up to when every change was seen; zero before the first pass.
	SweptUntil(ctx context.Context) (time.Time, error)
	SaveSweptUntil(ctx context.Context, until time.Time) error
}

// Evaluator evaluates reports.
type Evaluator interface {
	Reports(ctx context.Context, scope authn.LabScope, ids []int64, e callout.Event) ([]evaluate.Result, error)
}

// Counters counts what was forgotten.
type Counters interface {
	Swept(reports int)
}

// Sweeper is the loop.
type Sweeper struct {
	config    Config
	store     Store
	inputs    Inputs
	evaluator Evaluator
	clock     clock.Clock
	counters  Counters
}

// New returns the loop.
func New(c Config, s Store, i Inputs, e Evaluator, k clock.Clock, n Counters) *Sweeper {
	return &Sweeper{config: c, store: s, inputs: i, evaluator: e, clock: k, counters: n}
}

const (
	batch = 500
	// firstLookback is what the first pass of a new deployment looks at: what is older is history.
	firstLookback = 24 * time.Hour
	// recently is how old a report may be whose patient's birth date or sex was corrected.
	recently = 30 * 24 * time.Hour
	// maxLookback is how long a report that cannot be evaluated holds the mark.
	maxLookback = 7 * 24 * time.Hour
)

// RunOnce makes one pass if this process leads. The mark of what was seen is kept, so that an absence of any length is
// made up for; it stays before the first report that could not be evaluated.
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

// pass evaluates what changed in the window. It returns when the first report changed that could not be evaluated.
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

// changed evaluates reports that were judged by another state of their values, patient or bill.
func (s *Sweeper) changed(ctx context.Context, from, until, recent time.Time) error {
	return s.pages(ctx, func(after int64) ([]Report, error) { return s.store.Changed(ctx, from, until, recent, after, batch) })
}

// configured evaluates the reports of laboratories whose zone changed, and of tests whose ranges changed.
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

// pages evaluates reports page by page.
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
