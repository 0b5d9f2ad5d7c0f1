package receive

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
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

// Documents stores records and values.
type Documents interface {
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
	Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error
}

// AfterCommit queues the tasks that follow a commit. It neither delays nor fails the call.
type AfterCommit interface {
	Flagged(ctx context.Context, scope authn.LabScope, reportID int64)
}

// Counters counts messages and fulfilled requests.
type Counters interface {
	// Received counts a message and the values that it added or replaced.
	Received(byInstrument bool, values int)
	Fulfilled()
}

// Deps holds the dependencies of the use case. NewID returns a unique document id.
type Deps struct {
	Reports     Reports
	Documents   Documents
	AfterCommit AfterCommit
	WakeRelay   func() // called after a commit
	Clock       clock.Clock
	NewID       func() string
	Counters    Counters
}

// UseCase receives values. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// OnItsOwn is the rerun number of a repetition without a request.
const OnItsOwn = -1

// Command is a message of an instrument interface.
type Command struct {
	ReportID   int64
	Number     int // OnItsOwn, or a number from 1
	SampleID   string
	DeviceID   string
	DeviceName string
	RerunType  string
	Readings   []Reading // not empty; an index has one value, perhaps under several names
	Actor      authn.Actor
}

// Reading is one value of a message.
type Reading struct {
	Index int
	Value string
	Name  string // empty: the parameter's name is used
}

// hasAll reports whether the message has a reading of every index.
func (c Command) hasAll(indices []int) bool {
	return !slices.ContainsFunc(indices, func(index int) bool {
		return !slices.ContainsFunc(c.Readings, func(r Reading) bool { return r.Index == index })
	})
}

// Result is the result of a message.
type Result struct {
	ByInstrument bool
	Duplicate    bool  // the message was received before
	Accepted     []int // stored indices, in the order of the message
	Rejected     []int // indices that the rerun does not include
	Pending      []int // requested indices without a value
	Flag         rerun.Flag
}

// Errors for callers.
var (
	ErrNoRequest = apperr.New(apperr.Invalid, "NO_ACTIVE_RERUN", "No active rerun request")
	ErrNothing   = apperr.InvalidField("device_data", "device_data holds none of the parameters that this rerun is about")
	ErrSample    = apperr.InvalidField("sample_id", "sample_id is not the sample of this report")
	ErrTwoTests  = apperr.InvalidField("device_data",
		"device_data has an index with the names of two tests of this report; send one message for each test")
	ErrTooMany = apperr.New(apperr.Conflict, "TOO_MANY_RERUNS",
		"This report has too many reruns; confirm or abort them first")
	ErrOtherTest = apperr.New(apperr.Conflict, "INDEX_OF_ANOTHER_TEST",
		"An index of this rerun already has a value, which may be of another test; send this one with rerun_number -1")
	errHistory = apperr.New(apperr.Conflict, "TOO_MANY_CORRECTIONS",
		"A value of this rerun was corrected too often; confirm or abort the rerun first")
)

// Receive stores the values and sets the flag. Errors: NotFound; Invalid for another sample, no request, no wanted
// value; Conflict; Unavailable.
func (u *UseCase) Receive(ctx context.Context, scope authn.LabScope, c Command) (Result, error) {
	d, err := u.attempt(ctx, scope, c, false)
	if rerun.IsDuplicate(err) { // the document store has documents that the database has no record of
		d, err = u.attempt(ctx, scope, c, true)
	}
	if err != nil {
		return Result{}, err
	}
	u.d.Counters.Received(d.Result.ByInstrument, len(d.Writes.Insert)+len(d.Writes.Replace))
	if d.Change.Flag != nil && *d.Change.Flag == rerun.Fulfilled && !d.Result.ByInstrument {
		u.d.Counters.Fulfilled()
	}
	if d.opened {
		u.d.AfterCommit.Flagged(ctx, scope, c.ReportID)
	}
	if d.Change.Announce != nil {
		u.d.WakeRelay()
	}
	return d.Result, nil
}

// attempt receives the message in one transaction. With everything, it first reads all documents.
func (u *UseCase) attempt(
	ctx context.Context, scope authn.LabScope, c Command, everything bool,
) (d Decision, err error) {
	wants := rerun.Wants{Tests: true, Ledger: true, Archived: everything}
	err = u.d.Reports.Change(ctx, scope, c.ReportID, wants, func(f rerun.Facts) (rerun.Change, error) {
		facts, err := u.load(ctx, scope, f, c, everything)
		if err != nil {
			return rerun.Change{}, err
		}
		if d, err = Decide(facts, c, rerun.RecordID(scope.LabID(), u.d.NewID()), u.d.Clock.Now()); err != nil {
			return rerun.Change{}, err
		}
		for i := range d.Writes.Insert {
			d.Writes.Insert[i].ID = u.d.NewID()
		}
		return d.Change, u.d.Documents.Write(ctx, scope, d.Writes)
	})
	return d, err
}

// load reads the documents on which the decision may depend. It reads the values if there are some, or if the message
// has only a part of the requested ones. It reads the records if the database does not have the request, because
// requests of other programs have no commit marker.
func (u *UseCase) load(
	ctx context.Context, scope authn.LabScope, f rerun.Facts, c Command, everything bool,
) (facts Facts, err error) {
	facts.Facts = f
	request, known := f.Ledger.Request(c.Number)
	unknown := c.Number != OnItsOwn && !known && f.Report.Flag.Open()
	if everything || unknown {
		if facts.Records, err = u.d.Documents.OfReports(ctx, scope, []int64{c.ReportID}); err != nil {
			return facts, err
		}
	}
	if everything || unknown || f.Unconfirmed.Digest != "" || !c.hasAll(request.Requested) {
		facts.Values, err = u.d.Documents.ValuesOfReports(ctx, scope, []int64{c.ReportID})
	}
	uncommitted := func(v rerun.Value) bool { return v.Number > f.Ledger.Highest() }
	if err == nil && !everything && c.Number == OnItsOwn && slices.ContainsFunc(facts.Values, uncommitted) {
		err = rerun.ErrDuplicate // perhaps written by this message
	}
	return facts, err
}
