package autorerun

import (
	"context"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Subjects reads reports with their patient and formats.
type Subjects interface {
	// Subject returns the report's patient and the enabled formats that allow an automatic rerun, profile children
	// included. An unknown report is NotFound.
	Subject(ctx context.Context, scope authn.LabScope, reportID int64) (Subject, error)
}

// Records reads earlier requests.
type Records interface {
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
}

// Orders takes the order to request a rerun. It is durable when Order returns nil; a second one for the same
// report while the first waits does nothing.
type Orders interface {
	Order(ctx context.Context, scope authn.LabScope, reportID int64, indices []int) error
}

// Counters counts outcomes.
type Counters interface {
	Evaluated(queued bool)
}

// Deps holds the dependencies of the use case. WakeRelay is called after a commit.
type Deps struct {
	Subjects  Subjects
	Records   Records
	Orders    Orders
	WakeRelay func()
	Log       *slog.Logger
	Counters  Counters
}

// UseCase evaluates instrument values.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Verdict is the result of an evaluation. All lists are ascending.
type Verdict struct {
	Qualifying []int // the rerun that they require is ordered
	Undecided  []int // indices whose value could not be judged
	Unknown    []int // indices that no parameter of the report has
}

// Evaluate judges the readings and orders a rerun for the qualifying ones, unless an automatic rerun exists already.
// Errors: NotFound; Conflict for a dismissed report; Unavailable.
func (u *UseCase) Evaluate(
	ctx context.Context, scope authn.LabScope, reportID int64, readings []Reading,
) (Verdict, error) {
	v, err := u.evaluate(ctx, scope, reportID, readings)
	if err != nil {
		return Verdict{}, err
	}
	u.d.Counters.Evaluated(len(v.Qualifying) > 0)
	return v, nil
}

func (u *UseCase) evaluate(
	ctx context.Context, scope authn.LabScope, reportID int64, readings []Reading,
) (v Verdict, err error) {
	subject, err := u.d.Subjects.Subject(ctx, scope, reportID)
	if err != nil {
		return v, err
	}
	if subject.Dismissed {
		return v, rerun.ErrDismissed
	}
	v = qualify(subject, readings)
	if len(v.Undecided)+len(v.Unknown) > 0 {
		u.d.Log.InfoContext(ctx, "values not judged for an automatic rerun", "lab_report_id", reportID,
			"undecided", v.Undecided, "unknown", v.Unknown)
	}
	if len(v.Qualifying) == 0 {
		return v, nil
	}
	records, err := u.d.Records.OfReports(ctx, scope, []int64{reportID})
	if err != nil {
		return v, err
	}
	for _, r := range records {
		// A record at flag 0 was abandoned, or its rerun is closed and the record is not deleted yet.
		if r.Type == rerun.Auto && (subject.Open || r.Foreign) {
			v.Qualifying = nil
			return v, nil
		}
	}
	if err := u.d.Orders.Order(ctx, scope, reportID, v.Qualifying); err != nil {
		return v, err
	}
	u.d.WakeRelay()
	return v, nil
}
