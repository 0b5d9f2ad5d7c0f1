package closing

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Reports locks reports.
type Reports interface {
	// Lock runs work while it holds the row of the report, and commits. An unknown report is NotFound. work may
	// run again after a deadlock.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
}

// Locked is a report whose row is held by the running transaction.
type Locked interface {
	Results
	Report() rerun.Report
	SetFlag(ctx context.Context, to rerun.Flag) error
	// Log appends to the activity log and returns the id of the entry.
	Log(ctx context.Context, entry activitylog.Entry) (int64, error)
	// Send makes a message durable with the transaction.
	Send(ctx context.Context, e outbox.Event) error
}

// Results are the values of a locked report.
type Results interface {
	// Parameters returns the enabled formats of the report and of its profile children.
	Parameters(ctx context.Context) ([]rerun.Parameter, error)
	Results(ctx context.Context) ([]rerun.Result, error)
	Replace(ctx context.Context, gone, confirmed []rerun.Result) error
	// Unsign clears the signature.
	Unsign(ctx context.Context) error
}

// Documents reads the documents of reruns.
type Documents interface {
	OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error)
	Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error)
}

// AfterCommit does what follows the commit; it neither delays nor fails the call.
type AfterCommit interface {
	// Ended deletes the archived documents and refreshes what depends on the report.
	Ended(ctx context.Context, scope authn.LabScope, report rerun.Report, records, values []string)
}

// Messages makes the order to judge a changed report again. logID tells two confirms apart.
type Messages interface {
	Evaluation(scope authn.LabScope, reportID, logID int64) (outbox.Event, error)
}

// Counters counts outcomes.
type Counters interface {
	Closed(confirmed bool)
}

// Deps is what the use case works with. WakeRelay is called after a message was committed.
type Deps struct {
	Reports     Reports
	Documents   Documents
	Messages    Messages
	WakeRelay   func()
	AfterCommit AfterCommit
	Clock       clock.Clock
	Counters    Counters
}

// UseCase ends reruns.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// ending is one confirm or abort under the lock.
type ending struct {
	*UseCase
	scope  authn.LabScope
	locked Locked
	report rerun.Report
	values []rerun.Value // of the rerun that ends
}

// end locks the report, takes the snapshot of the rerun, lets conclude write, and has deleted what was archived.
func (u *UseCase) end(
	ctx context.Context, scope authn.LabScope, reportID int64, conclude func(*ending, *rerun.Snapshot) error,
) error {
	var snapshot rerun.Snapshot
	var report rerun.Report
	err := u.d.Reports.Lock(ctx, scope, reportID, func(l Locked) (err error) {
		e := &ending{UseCase: u, scope: scope, locked: l, report: l.Report()}
		report = e.report
		if snapshot, err = e.snapshot(ctx); err != nil {
			return err
		}
		if err := l.SetFlag(ctx, snapshot.New.Flag); err != nil {
			return err
		}
		return conclude(e, &snapshot)
	})
	if err != nil {
		return err
	}
	records, values := snapshot.IDs()
	u.d.AfterCommit.Ended(ctx, scope, report, records, values)
	return nil
}

func (e *ending) snapshot(ctx context.Context) (rerun.Snapshot, error) {
	next, err := e.report.Flag.Next(rerun.Close)
	if err != nil {
		return rerun.Snapshot{}, err
	}
	records, err := e.d.Documents.OfReport(ctx, e.scope, e.report.ID)
	if err != nil {
		return rerun.Snapshot{}, err
	}
	if e.values, err = e.d.Documents.Values(ctx, e.scope, e.report.ID); err != nil {
		return rerun.Snapshot{}, err
	}
	s := rerun.Archive(records, e.values)
	s.Old.Flag, s.New.Flag = e.report.Flag, next
	return s, nil
}
