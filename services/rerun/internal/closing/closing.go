package closing

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Reports changes locked reports.
type Reports interface {
	// Change locks the report, reads the facts, calls decide, applies its decision and commits. It returns NotFound for an
	// unknown report. decide may be called again after a deadlock.
	Change(ctx context.Context, scope authn.LabScope, reportID int64, wants rerun.Wants,
		decide func(rerun.Facts) (rerun.Change, error)) error
}

// Documents reads the documents of reruns.
type Documents interface {
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
}

// AfterCommit queues the tasks that follow a commit. It neither delays nor fails the call.
type AfterCommit interface {
	// Ended deletes the archived documents and refreshes what depends on the report.
	Ended(ctx context.Context, scope authn.LabScope, report rerun.Report, archived rerun.Writes)
}

// Counters counts closed reruns.
type Counters interface {
	Closed(confirmed bool)
}

// Deps holds the dependencies of the use case. WakeRelay is called after a commit.
type Deps struct {
	Reports     Reports
	Documents   Documents
	WakeRelay   func()
	AfterCommit AfterCommit
	Clock       clock.Clock
	Counters    Counters
}

// UseCase ends reruns. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Confirmed is the result of a confirmation.
type Confirmed struct {
	Replaced    []Replaced
	HasDocument bool // the report has a Word document, saved before the confirmation
}

// Confirm replaces values of the report and closes the rerun. Errors: NotFound; Conflict if no rerun is open, the
// report is dismissed, values arrived that the caller has not seen, or a parameter was measured only on a previous
// sample; Invalid for a row whose parameter the report does not have, that may belong to several tests or that is
// repeated, and for a SeenAt in the future; Unavailable.
func (u *UseCase) Confirm(ctx context.Context, scope authn.LabScope, c Confirmation) (Confirmed, error) {
	var document bool
	d, err := u.end(ctx, scope, c.ReportID, func(f Facts) (Decision, error) {
		document = f.Report.HasDocument
		return Decide(f, c, u.d.Clock.Now())
	})
	if err == nil {
		u.d.Counters.Closed(true)
	}
	return Confirmed{Replaced: d.Replaced, HasDocument: document}, err
}

// Abort closes the rerun and keeps the report's values. Errors: NotFound, Conflict if none is open, Unavailable.
func (u *UseCase) Abort(ctx context.Context, scope authn.LabScope, reportID int64, actor authn.Actor) error {
	_, err := u.end(ctx, scope, reportID,
		func(f Facts) (Decision, error) { return DecideAbort(f, actor, u.d.Clock.Now()) })
	if err == nil {
		u.d.Counters.Closed(false)
	}
	return err
}

func (u *UseCase) end(
	ctx context.Context, scope authn.LabScope, reportID int64, decide func(Facts) (Decision, error),
) (d Decision, err error) {
	var facts Facts
	err = u.d.Reports.Change(ctx, scope, reportID, rerun.Wants{Tests: true, Results: true},
		func(f rerun.Facts) (rerun.Change, error) {
			facts.Facts = f
			if facts.Records, err = u.d.Documents.OfReports(ctx, scope, []int64{reportID}); err != nil {
				return rerun.Change{}, err
			}
			if facts.Values, err = u.d.Documents.ValuesOfReports(ctx, scope, []int64{reportID}); err != nil {
				return rerun.Change{}, err
			}
			d, err = decide(facts)
			return d.Change, err
		})
	if err != nil {
		return Decision{}, err
	}
	u.d.WakeRelay()
	u.d.AfterCommit.Ended(ctx, scope, facts.Report, d.Archived)
	return d, nil
}
