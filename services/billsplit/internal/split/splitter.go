package split

import (
	"context"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Observer receives events for metrics.
type Observer interface {
	Validated(failed bool)
	Calculated(failed bool)
	// Executed is called for each execution that changed something, Replayed for each repeated response, and Refused for
	// each rejection with its failures.
	Executed(tests int)
	Replayed()
	Refused(failures []bill.Failure)
	Timer
}

// AfterSplit is notified of bills after their change was committed.
type AfterSplit interface {
	Changed(ctx context.Context, lab authn.LabScope, patientID int64)
}

// Deps are the dependencies of a Splitter.
type Deps struct {
	Store    Store
	After    AfterSplit
	Clock    clock.Clock
	Log      *slog.Logger
	Observer Observer
	Rules    Rules
}

// Splitter validates, calculates and executes splits.
type Splitter struct{ d Deps }

// New returns a Splitter with the dependencies d.
func New(d Deps) *Splitter { return &Splitter{d} }

// ErrSwitchedOff is returned for a laboratory that has bill splitting switched off.
var ErrSwitchedOff = apperr.New(apperr.Forbidden, "BILL_SPLIT_DISABLED",
	"Bill splitting is switched off for this laboratory; ask an administrator to switch it on")

// Modes, as metrics name them.
const (
	modeValidate  = "validate"
	modeCalculate = "calculate"
	modeExecute   = "execute"
)

// Modes returns all modes.
func Modes() []string { return []string{modeValidate, modeCalculate, modeExecute} }

// Validate runs the checks of every mode. The warnings include what would stop an execution.
func (s *Splitter) Validate(ctx context.Context, r Request) (failures, warnings []bill.Failure, err error) {
	defer s.timed(modeValidate)()
	a, err := s.view(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	s.d.Observer.Validated(len(a.failures) > 0)
	return a.failures, a.warnings(), nil
}

// Calculate returns the amounts that an execution would write.
func (s *Splitter) Calculate(ctx context.Context, r Request) (Projection, error) {
	defer s.timed(modeCalculate)()
	a, err := s.view(ctx, r)
	if err != nil {
		return Projection{}, err
	}
	s.d.Observer.Calculated(len(a.failures) > 0)
	p := Projection{Failures: a.failures, Warnings: a.warnings()}
	if a.bill != nil && len(a.selection.Moved) > 0 {
		p.Division = &a.division
	}
	return p, nil
}

func (s *Splitter) view(ctx context.Context, r Request) (assessment, error) {
	f, err := s.d.Store.View(ctx, r)
	if err != nil {
		return assessment{}, err
	}
	return s.d.Rules.assess(f, r)
}

func (s *Splitter) timed(mode string) (done func()) { return Timed(s.d.Clock, s.d.Observer, mode) }

// Timer receives the durations of modes.
type Timer interface {
	Took(mode string, d time.Duration)
}

// Timed starts the measurement of a mode and returns the function that ends it.
func Timed(c clock.Clock, t Timer, mode string) (done func()) {
	begin := c.Now()
	return func() { t.Took(mode, c.Now().Sub(begin)) }
}
