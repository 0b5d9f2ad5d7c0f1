package receive

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
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
	Evidence
	Report() rerun.Report
	SetFlag(ctx context.Context, to rerun.Flag) error
	Log(ctx context.Context, entry activitylog.Entry) (int64, error)
}

// Evidence is what the database says of a locked report.
type Evidence interface {
	// Parameters returns the enabled formats of the report and of its profile children.
	Parameters(ctx context.Context) ([]rerun.Parameter, error)
	Ledger(ctx context.Context) (rerun.Ledger, error)
	// Archived returns the ids of the documents that a confirm, an abort or the sweeper has archived.
	Archived(ctx context.Context) (map[string]bool, error)
}

// Records stores SampleRerun documents. A violation of a unique index is rerun.ErrDuplicate.
type Records interface {
	OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error)
	Insert(ctx context.Context, record rerun.Record) error
}

// Values stores SampleRerunValues documents.
type Values interface {
	Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error)
	// InsertValues is rerun.ErrDuplicate when one is stored already; others may have been added then.
	InsertValues(ctx context.Context, values []rerun.Value) error
	ReplaceValue(ctx context.Context, scope authn.LabScope, v rerun.Value) error
}

// AfterCommit does what follows the commit; it neither delays nor fails the call.
type AfterCommit interface {
	Flagged(ctx context.Context, scope authn.LabScope, reportID int64)
}

// Counters counts outcomes.
type Counters interface {
	// Received counts a message and the values that it added or replaced.
	Received(byInstrument bool, values int)
	Fulfilled()
}

// Deps is what the use case works with. NewID returns a fresh document id.
type Deps struct {
	Reports     Reports
	Records     Records
	Values      Values
	AfterCommit AfterCommit
	Clock       clock.Clock
	NewID       func() string
	Counters    Counters
}

// UseCase receives values.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// OnItsOwn is the rerun number of a repetition that no one asked for.
const OnItsOwn = -1

// Command is a message of an instrument interface.
type Command struct {
	ReportID   int64
	Number     int // OnItsOwn, or 1 and above
	SampleID   string
	DeviceID   string
	DeviceName string
	RerunType  string
	Readings   []Reading // not empty; every index once
	Actor      authn.Actor
}

// Reading is one value.
type Reading struct {
	Index int
	Value string
	Name  string // empty: the parameter's
}

// Result tells the outcome of a message.
type Result struct {
	ByInstrument bool
	Accepted     []int // indices that are stored, in the order of the message
	Rejected     []int // indices that are not wanted
	Pending      []int // requested indices without a value
	Flag         rerun.Flag

	changed   int  // values that were added or replaced
	opened    bool // the report had no open rerun before
	completed bool // the message set flag 4
}

// Errors that callers see.
var (
	ErrNoRequest = apperr.New(apperr.Invalid, "NO_ACTIVE_RERUN", "No active rerun request")
	ErrNothing   = apperr.InvalidField("device_data", "device_data holds none of the parameters that this rerun is about")
	ErrSample    = apperr.InvalidField("sample_id", "sample_id is not the sample of this report")
	ErrTooMany   = apperr.New(apperr.Conflict, "TOO_MANY_RERUNS",
		"This report has too many reruns; confirm or abort them first")
)

// Receive stores the values and sets the flag. Errors: NotFound; Invalid for another sample, no request, no
// wanted value; Conflict; Unavailable.
func (u *UseCase) Receive(ctx context.Context, scope authn.LabScope, c Command) (Result, error) {
	var result Result
	err := u.d.Reports.Lock(ctx, scope, c.ReportID, func(l Locked) (err error) {
		work := &receipt{UseCase: u, scope: scope, command: c, locked: l, report: l.Report()}
		result, err = work.run(ctx)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	u.d.Counters.Received(result.ByInstrument, result.changed)
	if result.completed {
		u.d.Counters.Fulfilled()
	}
	if result.opened {
		u.d.AfterCommit.Flagged(ctx, scope, c.ReportID)
	}
	return result, nil
}

// receipt is one message under the lock.
type receipt struct {
	*UseCase
	scope   authn.LabScope
	command Command
	locked  Locked
	report  rerun.Report
}

func (r *receipt) run(ctx context.Context) (Result, error) {
	if r.command.Number == OnItsOwn {
		return r.repetition(ctx)
	}
	return r.requested(ctx)
}

// log appends entry 979; for a repetition it is the commit marker.
func (r *receipt) log(ctx context.Context, text string, m mark) error {
	m.SampleID, m.DeviceID = r.command.SampleID, r.command.DeviceID
	_, err := r.locked.Log(ctx, activitylog.Entry{
		Category: activitylog.RerunValuesReceived, Text: text, Actor: r.command.Actor, At: r.d.Clock.Now(), Meta: m,
	})
	return err
}

// mark is the meta of entry 979.
type mark struct {
	RerunID     string `json:"rerun_id"`
	RerunNumber int    `json:"rerun_number"`
	Indices     []int  `json:"indices"`
	SampleID    string `json:"sample_id"`
	DeviceID    string `json:"device_id"`
	Fingerprint string `json:"fingerprint,omitempty"`
}
