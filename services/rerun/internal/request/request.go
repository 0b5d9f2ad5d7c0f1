package request

import (
	"context"
	"errors"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Reports changes locked reports and writes their log.
type Reports interface {
	// Change locks the report, reads the facts, calls decide, applies its decision and commits. It returns NotFound for an
	// unknown report. decide may be called again after a deadlock. If the outcome of the commit is unknown, the error
	// wraps mysqldb.ErrCommitUnknown.
	Change(ctx context.Context, scope authn.LabScope, reportID int64, wants rerun.Wants,
		decide func(rerun.Facts) (rerun.Change, error)) error
	// LogFailure writes a log entry in a transaction of its own.
	LogFailure(ctx context.Context, scope authn.LabScope, reportID int64, entry activitylog.Entry) error
}

// Documents stores the documents of reruns.
type Documents interface {
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
	Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error
}

// AfterCommit queues the tasks that follow a commit. It neither delays nor fails the call.
type AfterCommit interface {
	Changed(ctx context.Context, scope authn.LabScope, reportID, patientID int64)
}

// Counters counts requests and failed steps.
type Counters interface {
	Requested(t rerun.Type)
	Failed(step string)
}

// Deps holds the dependencies of the use case. NewID returns a unique document id.
type Deps struct {
	Reports     Reports
	Documents   Documents
	AfterCommit AfterCommit
	Clock       clock.Clock
	NewID       func() string
	Log         *slog.Logger
	Counters    Counters
}

// UseCase requests reruns. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Command is a decoded request.
type Command struct {
	ReportID       int64
	Type           rerun.Type
	Number         int   // 0: one above the highest; of an automatic request the minimum
	Requested      []int // not empty, without duplicates
	ParameterNames []string
	SampleID       string
	Actor          authn.Actor
}

// ErrSave is the error for callers when a request could not be saved.
var ErrSave = apperr.New(apperr.Internal, "RERUN_NOT_SAVED", "Something went wrong when saving sample rerun")

// Request saves the record and sets flag 3. It returns the stored record. Errors: NotFound, Conflict (open
// request, number in use, second automatic rerun), Invalid (unknown parameter), ErrSave.
func (u *UseCase) Request(ctx context.Context, scope authn.LabScope, c Command) (rerun.Record, error) {
	var d Decision
	var patientID int64
	wants := rerun.Wants{Tests: true, Ledger: true, Archived: true}
	err := u.d.Reports.Change(ctx, scope, c.ReportID, wants, func(f rerun.Facts) (_ rerun.Change, err error) {
		patientID = f.Report.PatientID
		d, err = u.save(ctx, scope, c, f)
		return d.Change, err
	})
	if err != nil {
		if lost := u.takeBack(ctx, scope, d, err); lost != nil {
			err = errors.Join(err, lost)
		}
		return rerun.Record{}, u.failure(ctx, scope, c, err)
	}
	u.d.Counters.Requested(d.Record.Type)
	u.d.AfterCommit.Changed(ctx, scope, c.ReportID, patientID)
	return d.Record, nil
}

// save writes the documents in the transaction, before it commits.
func (u *UseCase) save(ctx context.Context, scope authn.LabScope, c Command, f rerun.Facts) (Decision, error) {
	records, err := u.d.Documents.OfReports(ctx, scope, []int64{c.ReportID})
	if err != nil {
		return Decision{}, err
	}
	values, err := u.d.Documents.ValuesOfReports(ctx, scope, []int64{c.ReportID})
	if err != nil {
		return Decision{}, err
	}
	facts := Facts{Facts: f, Records: records, Values: values}
	d, err := Decide(facts, c, rerun.RecordID(scope.LabID(), u.d.NewID()), u.d.Clock.Now())
	if err != nil {
		return Decision{}, err
	}
	for _, id := range d.Abandoned {
		u.d.Log.WarnContext(ctx, "abandoned rerun record deleted", "rerun_id", id, "lab_report_id", c.ReportID)
	}
	return d, u.d.Documents.Write(ctx, scope, d.Writes)
}

// takeBack deletes the record of a transaction that did not commit, but not if the outcome of the commit is unknown. If
// that fails as well, the next holder of the lock recognizes the record by its missing commit marker.
func (u *UseCase) takeBack(ctx context.Context, scope authn.LabScope, d Decision, err error) error {
	if d.Record.ID == "" || errors.Is(err, mysqldb.ErrCommitUnknown) {
		return nil
	}
	return u.d.Documents.Write(context.WithoutCancel(ctx), scope, rerun.Writes{DeleteRecords: []string{d.Record.ID}})
}
