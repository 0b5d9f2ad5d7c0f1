// Package evaluate owns the judgement of reports after their values changed: it moves their state, announces what
// became critical, sets its deadline, and tells of what was called out and turned out wrong. It may be repeated: the
// same values change nothing.
package evaluate

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
)

// Memory is what earlier judgements of a report decided once.
type Memory struct {
	// Corrected are the formats of called values of which everybody was told that they were wrong.
	Corrected []int64 `json:"corrected,omitempty"`
	// Spared are the critical values that the laboratory's policy for repeated values needs no call for.
	Spared []SparedValue `json:"spared,omitempty"`
}

// SparedValue is a value as it was written.
type SparedValue struct {
	FormatID int64  `json:"report_format_id"`
	RawValue string `json:"raw_value"`
}

// Locked holds the rows of the reports.
type Locked interface {
	escalate.Outbox
	// Reports are those of the laboratory that were asked for and are not dismissed, by id.
	Reports() []callout.Report
	Formats() callout.Formats
	// Bills returns the bills of the reports, by id.
	Bills(ctx context.Context) (map[int64]callout.Bill, error)
	// Episodes returns the open episode of each report that has one.
	Episodes(ctx context.Context, reportIDs []int64) (map[int64]callout.Episode, error)
	// Told returns what was communicated last of each report, without Corrected; absent where no callout is known.
	Told(ctx context.Context, reportIDs []int64) (map[int64]callout.Snapshot, error)
	// Heard returns the values of a report that someone was told and did not read back, by the attempt of its bill.
	Heard(ctx context.Context, billID, reportID int64) ([]callout.Parameter, error)
	// Memories returns what was remembered of each report; absent where there is nothing.
	Memories(ctx context.Context, reportIDs []int64) (map[int64]Memory, error)
	// Calls returns everything that was communicated of a patient since a time, the earliest first.
	Calls(ctx context.Context, patientID int64, since time.Time) ([]callout.Call, error)
	Settings(ctx context.Context) (callout.Settings, error)
	Move(ctx context.Context, reportID int64, from, to callout.Status) error
	// OpenEpisode begins the wait of a report that has none open.
	OpenEpisode(ctx context.Context, e callout.Episode) (id int64, err error)
	SaveParameters(ctx context.Context, e callout.Episode) error
	CloseEpisode(ctx context.Context, reportID int64, at time.Time, by string) error
	Remember(ctx context.Context, reportID int64, m Memory) error
	// Unclear returns which of the reports are marked to have a value that cannot be judged.
	Unclear(ctx context.Context, reportIDs []int64) (map[int64]bool, error)
	MarkUnclear(ctx context.Context, reportID int64, unclear bool, since time.Time) error
	// NoteCorrection keeps what was called and turned out wrong, and when everybody was told of it.
	NoteCorrection(ctx context.Context, reportID int64, was []callout.Parameter, at time.Time) error
	// Evaluated notes that the reports were judged as their rows are now.
	Evaluated(ctx context.Context, reportIDs []int64) error
	Log(ctx context.Context, e activitylog.Entry) error
}

// Store locks reports.
type Store interface {
	// Lock runs work in a transaction that holds the reports' rows. Ids of other laboratories are left out.
	Lock(ctx context.Context, scope authn.LabScope, reportIDs []int64, work func(Locked) error) error
	// OfBill returns the ids of the bill's reports; callout.ErrNoBill when the laboratory has no such bill.
	OfBill(ctx context.Context, scope authn.LabScope, billID int64) ([]int64, error)
}

// Counts is what one transaction found.
type Counts struct{ Reports, Critical, Suppressed, Corrected, Unclear int }

// Counters counts what was found.
type Counters interface {
	Evaluated(c Counts)
}

// Deps is what the use case works with. WakeRelay is called after a commit.
type Deps struct {
	Store     Store
	Messages  escalate.Messages
	Clock     clock.Clock
	WakeRelay func()
	Counters  Counters
	Signals   escalate.Signals
	Log       *slog.Logger
}

// Result is a report with its state after the evaluation.
type Result struct {
	ReportID int64
	Status   callout.Status
}

// UseCase evaluates reports.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

// Why says why reports are judged.
type Why int

// The reasons.
const (
	Named   Why = iota // someone asked for these reports: a report that was done before this service came is judged, too
	Noticed            // a loop or a deadline came by
)

// Bill evaluates the reports of a bill.
func (u *UseCase) Bill(ctx context.Context, scope authn.LabScope, billID int64, why Why) ([]Result, error) {
	ids, err := u.d.Store.OfBill(ctx, scope, billID)
	if err != nil {
		return nil, err
	}
	return u.Reports(ctx, scope, ids, why)
}

// atOnce is how many reports one transaction holds.
const atOnce = 50

// Reports evaluates reports; unknown ones are left out of the answer. A report that cannot be evaluated does not keep
// the others from it.
func (u *UseCase) Reports(ctx context.Context, scope authn.LabScope, ids []int64, why Why) ([]Result, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	results := []Result{}
	var failed error
	for part := range slices.Chunk(slices.Compact(ids), atOnce) {
		some, err := u.part(ctx, scope, part, why)
		if err != nil && len(part) > 1 && ctx.Err() == nil {
			some, err = u.oneByOne(ctx, scope, part, why)
		}
		failed = errors.Join(failed, err)
		results = append(results, some...)
	}
	if failed != nil {
		return nil, failed
	}
	return results, nil
}

func (u *UseCase) oneByOne(ctx context.Context, scope authn.LabScope, ids []int64, why Why) ([]Result, error) {
	var results []Result
	var failed error
	for _, id := range ids {
		some, err := u.part(ctx, scope, []int64{id}, why)
		failed = errors.Join(failed, err)
		results = append(results, some...)
	}
	return results, failed
}

func (u *UseCase) part(ctx context.Context, scope authn.LabScope, ids []int64, why Why) ([]Result, error) {
	var p pass
	err := u.d.Store.Lock(ctx, scope, ids, func(l Locked) (err error) {
		p = pass{Locked: l, d: u.d, scope: scope, now: u.d.Clock.Now(), why: why} // a retried transaction starts over
		return p.run(ctx)
	})
	if err != nil {
		return nil, err
	}
	if p.sent {
		u.d.WakeRelay()
	}
	if p.visible { // something waits, waited, waits with other values, or cannot be judged
		u.d.Signals.Changed(ctx, scope)
	}
	for _, v := range p.unclear {
		u.d.Log.WarnContext(ctx, "a value with critical limits cannot be judged: it is on the board of callouts",
			"lab_report_id", v.report, "index", v.index)
	}
	p.counts.Reports = len(p.results)
	u.d.Counters.Evaluated(p.counts)
	return p.results, nil
}
