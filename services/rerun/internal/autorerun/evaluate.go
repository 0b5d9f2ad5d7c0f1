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

// Records tells what was requested before.
type Records interface {
	OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error)
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

// Deps is what the use case works with. WakeRelay is called after an order was committed.
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

// Evaluate returns the indices that call for a rerun, for which the order is then durable; none means that the
// values did not qualify or that an automatic rerun exists already.
func (u *UseCase) Evaluate(
	ctx context.Context, scope authn.LabScope, reportID int64, readings []Reading,
) ([]int, error) {
	qualifying, err := u.evaluate(ctx, scope, reportID, readings)
	if err != nil {
		return nil, err
	}
	u.d.Counters.Evaluated(len(qualifying) > 0)
	return qualifying, nil
}

func (u *UseCase) evaluate(
	ctx context.Context, scope authn.LabScope, reportID int64, readings []Reading,
) ([]int, error) {
	subject, err := u.d.Subjects.Subject(ctx, scope, reportID)
	if err != nil || len(subject.Formats) == 0 {
		return nil, err
	}
	records, err := u.d.Records.OfReport(ctx, scope, reportID)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		// A record at flag 0 was abandoned, or its rerun is closed and the record not deleted yet.
		if r.Type == rerun.Auto && (subject.Open || r.Foreign) {
			return nil, nil
		}
	}
	qualifying, open := qualify(subject, readings)
	if len(open) > 0 {
		u.d.Log.InfoContext(ctx, "values could not be judged for an automatic rerun", "lab_report_id", reportID, "indices",
			open)
	}
	if len(qualifying) == 0 {
		return nil, nil
	}
	if err := u.d.Orders.Order(ctx, scope, reportID, qualifying); err != nil {
		return nil, err
	}
	u.d.WakeRelay()
	return qualifying, nil
}
