package request

import (
	"context"
	"errors"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Reports locks reports and keeps their log.
type Reports interface {
	// Lock runs work while it holds the row of the report, and commits. An unknown report is NotFound. work may
	// run again after a deadlock. A commit whose outcome is not known carries mysqldb.ErrCommitUnknown.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
	// LogFailure writes an entry on a fresh connection.
	LogFailure(ctx context.Context, scope authn.LabScope, reportID int64, entry activitylog.Entry) error
}

// Locked is a report whose row is held by the running transaction.
type Locked interface {
	Report() rerun.Report
	// Parameters returns the enabled formats of the report and of its profile children.
	Parameters(ctx context.Context) ([]rerun.Parameter, error)
	// Ledger tells which records were committed.
	Ledger(ctx context.Context) (rerun.Ledger, error)
	// Archived returns the ids of the documents that the activity log holds.
	Archived(ctx context.Context) (map[string]bool, error)
	SetFlag(ctx context.Context, to rerun.Flag) error
	Log(ctx context.Context, entry activitylog.Entry) (int64, error)
}

// Records stores the documents of reruns. A violation of a unique index is rerun.ErrDuplicate.
type Records interface {
	OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error)
	Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error)
	Insert(ctx context.Context, record rerun.Record) error
	// Close makes a record await no more values and frees the open slot; Retire frees the automatic slot too.
	// A record that is not there is not an error.
	Close(ctx context.Context, scope authn.LabScope, id string) error
	Retire(ctx context.Context, scope authn.LabScope, id string) error
	// Delete removes records; those that are not there are not errors.
	Delete(ctx context.Context, scope authn.LabScope, ids ...string) error
	DeleteValues(ctx context.Context, scope authn.LabScope, ids []string) error
}

// AfterCommit does what follows the commit; it neither delays nor fails the call.
type AfterCommit interface {
	Changed(ctx context.Context, scope authn.LabScope, reportID, patientID int64)
}

// Counters counts outcomes.
type Counters interface {
	Requested(t rerun.Type)
	Failed(step string)
}

// Deps is what the use case works with. NewID returns a fresh document id.
type Deps struct {
	Reports     Reports
	Records     Records
	AfterCommit AfterCommit
	Clock       clock.Clock
	NewID       func() string
	Log         *slog.Logger
	Counters    Counters
}

// UseCase requests reruns.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Command is a request whose spellings have been read.
type Command struct {
	ReportID       int64
	Type           rerun.Type
	Number         int   // 0: one above the highest; of an automatic request the least
	Requested      []int // not empty, without repetitions
	ParameterNames []string
	SampleID       string
	Actor          authn.Actor
}

// ErrSave is what callers see of every failure to save.
var ErrSave = apperr.New(apperr.Internal, "RERUN_NOT_SAVED", "Something went wrong when saving sample rerun")

// Request saves the record and sets flag 3. It returns the stored record. Errors: NotFound, Conflict (open
// request, number in use, second automatic rerun), Invalid (unknown parameter), ErrSave.
func (u *UseCase) Request(ctx context.Context, scope authn.LabScope, c Command) (rerun.Record, error) {
	var saved rerun.Record
	var patientID int64
	err := u.d.Reports.Lock(ctx, scope, c.ReportID, func(l Locked) (err error) {
		patientID = l.Report().PatientID
		saved, err = u.save(ctx, scope, c, l)
		return err
	})
	if err != nil {
		return rerun.Record{}, u.failure(ctx, scope, c, err)
	}
	u.d.Counters.Requested(saved.Type)
	u.d.AfterCommit.Changed(ctx, scope, c.ReportID, patientID)
	return saved, nil
}

// save works under the lock. When it fails behind the insert it takes the document back; should that fail too,
// the missing marker tells the next holder of the lock.
func (u *UseCase) save(ctx context.Context, scope authn.LabScope, c Command, l Locked) (rerun.Record, error) {
	next, err := l.Report().Flag.Next(rerun.Request)
	if err != nil {
		return rerun.Record{}, err
	}
	names, err := u.names(ctx, c, l)
	if err != nil {
		return rerun.Record{}, err
	}
	earlier, values, err := u.tidy(ctx, scope, l)
	if err != nil {
		return rerun.Record{}, err
	}
	record := u.record(scope, c, names)
	if record.Number, err = number(c, l.Report().Flag, earlier, values); err != nil {
		return rerun.Record{}, err
	}
	if err := u.supersede(ctx, scope, earlier); err != nil {
		return rerun.Record{}, err
	}
	if err := u.d.Records.Insert(ctx, record); err != nil {
		return rerun.Record{}, err
	}
	if err := u.mark(ctx, l, record, next, c.Actor); err != nil {
		return rerun.Record{}, errors.Join(err, u.d.Records.Delete(context.WithoutCancel(ctx), scope, record.ID))
	}
	return record, nil
}

func (u *UseCase) record(scope authn.LabScope, c Command, names []string) rerun.Record {
	now := u.d.Clock.Now()
	return rerun.Record{
		ID: rerun.RecordID(scope.LabID(), u.d.NewID()), LabID: scope.LabID(), ReportID: c.ReportID, Type: c.Type,
		Requested:      c.Requested,
		ParameterNames: names, Active: true, SampleID: c.SampleID,
		CreatedBy: c.Actor.ID, CreatedByKind: string(c.Actor.Kind), UpdatedBy: c.Actor.ID, CreatedAt: now, UpdatedAt: now,
	}
}

// marker is the meta of log row 981: rerun_id proves that the document was committed.
type marker struct {
	RerunID     string     `json:"rerun_id"`
	RerunNumber int        `json:"rerun_number"`
	Type        rerun.Type `json:"type"`
	Requested   []int      `json:"requested_parameters"`
	activitylog.Change[flagSnapshot]
}

type flagSnapshot struct {
	Flag rerun.Flag `json:"sampleRedrawFlag"`
}

func (u *UseCase) mark(ctx context.Context, l Locked, r rerun.Record, next rerun.Flag, actor authn.Actor) error {
	old := l.Report().Flag
	if err := l.SetFlag(ctx, next); err != nil {
		return err
	}
	_, err := l.Log(ctx, activitylog.Entry{
		Category: activitylog.RerunRequested, Text: string(r.Type) + " sample rerun requested", Actor: actor, At: r.CreatedAt,
		Meta: marker{RerunID: r.ID, RerunNumber: r.Number, Type: r.Type, Requested: r.Requested,
			Change: activitylog.Change[flagSnapshot]{Old: flagSnapshot{old}, New: flagSnapshot{next}}},
	})
	return err
}
