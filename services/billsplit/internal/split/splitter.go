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

// Observer is told what happened.
type Observer interface {
	Validated(failed bool)
	Calculated(failed bool)
	// Executed is told of each execution that changed something, of each answer that was repeated, and of each refusal
	// with its failures.
	Executed(tests int)
	Replayed()
	Refused(failures []bill.Failure)
	Timer
}

// AfterSplit is told of bills whose change is committed.
type AfterSplit interface {
	Changed(ctx context.Context, lab authn.LabScope, patientID int64)
}

// Deps is what a Splitter works with.
type Deps struct {
	Store    Store
	After    AfterSplit
	Clock    clock.Clock
	Log      *slog.Logger
	Observer Observer
	Rules    Rules
}

// Splitter splits bills.
type Splitter struct{ d Deps }

// New returns a Splitter.
func New(d Deps) *Splitter { return &Splitter{d} }

// ErrSwitchedOff refuses a laboratory that does not split bills.
var ErrSwitchedOff = apperr.New(apperr.Forbidden, "BILL_SPLIT_DISABLED",
	"Bill splitting is switched off for this laboratory; ask an administrator to switch it on")

// The modes in metrics.
const (
	modeValidate  = "validate"
	modeCalculate = "calculate"
	modeExecute   = "execute"
)

// Modes lists them.
func Modes() []string { return []string{modeValidate, modeCalculate, modeExecute} }

// Validate makes the checks of every mode. The warnings tell what else an execution would refuse.
func (s *Splitter) Validate(ctx context.Context, r Request) (failures, warnings []bill.Failure, err error) {
	defer s.timed(modeValidate)()
	a, err := s.view(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	s.d.Observer.Validated(len(a.failures) > 0)
	return a.failures, a.warnings(), nil
}

// Calculate tells the amounts that an execution would write.
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

// Timer is told how long a mode took.
type Timer interface {
	Took(mode string, d time.Duration)
}

// Timed returns what ends the measuring of a mode.
func Timed(c clock.Clock, t Timer, mode string) (done func()) {
	begin := c.Now()
	return func() { t.Took(mode, c.Now().Sub(begin)) }
}
