package autorerun

import (
	"context"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Subjects reads reports with their patient and formats.
type Subjects interface {
	// Subject returns the report's patient and the enabled formats that allow an automatic rerun, including those of
	// profile children. It returns NotFound for an unknown report.
	Subject(ctx context.Context, scope authn.LabScope, reportID int64) (Subject, error)
}

// Records reads earlier requests.
type Records interface {
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
}

// Orders stores orders to request a rerun. An order is durable once Order returns nil. While an order for the report
// waits, the indices of another one are added to it.
type Orders interface {
	Order(ctx context.Context, scope authn.LabScope, reportID int64, indices []int) error
}

// Counters counts evaluations by outcome.
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

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Verdict is the result of an evaluation. All lists are in ascending order.
type Verdict struct {
	Qualifying []int // indices whose values require a rerun, which was ordered
	Undecided  []int // indices whose value could not be judged
	Unknown    []int // indices that are no parameter of the report
}

// Evaluate judges the readings and orders a rerun for the ones that qualify, unless an automatic rerun exists already.
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
		// A record without an open rerun was abandoned, or belongs to a closed rerun and will be deleted.
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
