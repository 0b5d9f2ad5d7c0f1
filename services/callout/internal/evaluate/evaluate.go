// Package evaluate owns the judgement of reports after their values changed: it moves their state, announces what
// became critical and starts the clock. It may be repeated: the same values change nothing.
package evaluate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
)

// Locked holds the rows of the reports.
type Locked interface {
	escalate.Locked
	// Reports are those of the laboratory that were asked for and are not dismissed, by id.
	Reports() []callout.Report
	Formats() callout.Formats
	// Told returns what was communicated last of each report; reports of which nothing is known are absent.
	Told(ctx context.Context, reportIDs []int64) (map[int64]callout.Snapshot, error)
	// ToldOf returns everything that was communicated of a patient since a time.
	ToldOf(ctx context.Context, patientID int64, since time.Time) ([]callout.Parameter, error)
	// RepeatWithin is how long the laboratory calls a similar value of a patient only once; 0: it always calls.
	RepeatWithin(ctx context.Context) (time.Duration, error)
	Move(ctx context.Context, reportID int64, from, to callout.Status) error
	// OpenEpisode begins the wait of a report; id is 0 when it waits already.
	OpenEpisode(ctx context.Context, e callout.Episode) (id int64, err error)
	CloseEpisode(ctx context.Context, reportID int64, at time.Time, by string) error
	// Evaluated notes that the reports were judged as their rows are now.
	Evaluated(ctx context.Context, reportIDs []int64) error
}

// Store locks reports.
type Store interface {
	// Lock runs work in a transaction that holds the reports' rows. Ids of other laboratories are left out.
	Lock(ctx context.Context, scope authn.LabScope, reportIDs []int64, work func(Locked) error) error
	// OfBill returns the ids of the bill's reports; callout.ErrNoBill when the laboratory has no such bill.
	OfBill(ctx context.Context, scope authn.LabScope, billID int64) ([]int64, error)
}

// Counters counts what was found.
type Counters interface {
	Evaluated(reports, becameCritical, suppressed int)
}

// Deps is what the use case works with. WakeRelay is called after a commit.
type Deps struct {
	Store     Store
	Messages  escalate.Messages
	Clock     clock.Clock
	WakeRelay func()
	Counters  Counters
	Signals   escalate.Signals
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

// Bill evaluates the reports of a bill.
func (u *UseCase) Bill(ctx context.Context, scope authn.LabScope, billID int64) ([]Result, error) {
	ids, err := u.d.Store.OfBill(ctx, scope, billID)
	if err != nil {
		return nil, err
	}
	return u.Reports(ctx, scope, ids)
}

// atOnce is how many reports one transaction holds.
const atOnce = 50

// Reports evaluates reports; unknown ones are left out of the answer.
func (u *UseCase) Reports(ctx context.Context, scope authn.LabScope, ids []int64) ([]Result, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	results := []Result{}
	for part := range slices.Chunk(slices.Compact(ids), atOnce) {
		some, err := u.part(ctx, scope, part)
		if err != nil {
			return nil, err
		}
		results = append(results, some...)
	}
	return results, nil
}

func (u *UseCase) part(ctx context.Context, scope authn.LabScope, ids []int64) ([]Result, error) {
	var p pass
	err := u.d.Store.Lock(ctx, scope, ids, func(l Locked) (err error) {
		p = pass{Locked: l, d: u.d, scope: scope, now: u.d.Clock.Now()} // a retried transaction begins anew
		return p.run(ctx)
	})
	if err != nil {
		return nil, err
	}
	if p.sent {
		u.d.WakeRelay()
	}
	if len(p.bills) > 0 { // something waits, waited, or waits with other values
		u.d.Signals.Changed(ctx, scope)
	}
	u.d.Counters.Evaluated(len(p.results), p.critical, p.suppressed)
	return p.results, nil
}

// pass is one transaction.
type pass struct {
	Locked
	d                    Deps
	scope                authn.LabScope
	now                  time.Time
	repeatWithin         time.Duration
	results              []Result
	bills                []int64 // whose clock may start or end
	critical, suppressed int
	sent                 bool
}

func (p *pass) run(ctx context.Context) error {
	reports := p.Reports()
	if len(reports) == 0 {
		return nil
	}
	told, err := p.toldOfDone(ctx, reports)
	if err != nil {
		return err
	}
	if p.repeatWithin, err = p.RepeatWithin(ctx); err != nil {
		return err
	}
	var ids []int64
	for _, r := range reports {
		if err := p.report(ctx, r, told); err != nil {
			return fmt.Errorf("report %d: %w", r.ID, err)
		}
		ids = append(ids, r.ID)
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	return p.Evaluated(ctx, ids)
}

func (p *pass) toldOfDone(ctx context.Context, reports []callout.Report) (map[int64]callout.Snapshot, error) {
	var done []int64
	for _, r := range reports {
		if r.Status == callout.Done {
			done = append(done, r.ID)
		}
	}
	if len(done) == 0 {
		return nil, nil
	}
	return p.Told(ctx, done)
}

// report judges one report and moves it.
func (p *pass) report(ctx context.Context, r callout.Report, told map[int64]callout.Snapshot) error {
	finding := callout.Judge(r.Chart, p.Formats())
	last, known := told[r.ID]
	event, ok := finding.Event(r.Status, last.Parameters, known)
	if ok && event == callout.FoundCritical && (r.Status == callout.Normal || r.Status == callout.Abnormal) {
		repeated, err := p.repeats(ctx, r, finding.Critical)
		if err != nil {
			return err
		}
		if repeated {
			event = callout.FoundAbnormal
		}
	}
	to := r.Status
	if ok {
		to, _ = r.Status.After(event)
	}
	p.results = append(p.results, Result{r.ID, to})
	return p.move(ctx, r, to)
}

func (p *pass) move(ctx context.Context, r callout.Report, to callout.Status) error {
	if to.Open() || r.Status.Open() {
		p.bills = append(p.bills, r.BillID)
	}
	if to != r.Status {
		if err := p.Move(ctx, r.ID, r.Status, to); err != nil {
			return err
		}
	}
	if !to.Open() {
		if !r.Status.Open() {
			return nil
		}
		return p.CloseEpisode(ctx, r.ID, p.now, "corrected")
	}
	id, err := p.OpenEpisode(ctx, callout.Episode{ReportID: r.ID, BillID: r.BillID, DetectedAt: p.now})
	if err != nil || id == 0 || r.Status.Open() { // who set the state without us has announced it
		return err
	}
	p.critical++
	return p.announce(ctx, r, id)
}

func (p *pass) announce(ctx context.Context, r callout.Report, episode int64) error {
	n := escalate.Notice{LabID: p.scope.LabID(), ReportID: r.ID, BillID: r.BillID, Key: fmt.Sprintf("pending:%d", episode)}
	if r.OrgID != nil {
		n.OrgID = *r.OrgID
	}
	event, err := p.d.Messages.Notice(n)
	if err != nil {
		return err
	}
	p.sent = true
	return p.Send(ctx, event)
}

// suppression is the meta of a log entry about a call that the laboratory's policy spares.
type suppression struct {
	IsDraft     bool   `json:"is_draft"`
	Method      string `json:"method"`
	Recipients  string `json:"recipients"`
	Suppressed  bool   `json:"suppressed"`
	WithinHours int    `json:"repeat_within_hours"`
}

// repeats tells whether every critical value is like one that was communicated of the same patient lately: the same
// parameter on the same side. The laboratory turns this on; what it spares is logged.
func (p *pass) repeats(ctx context.Context, r callout.Report, critical []callout.Parameter) (bool, error) {
	if p.repeatWithin <= 0 {
		return false, nil
	}
	told, err := p.ToldOf(ctx, r.PatientID, p.now.Add(-p.repeatWithin))
	if err != nil {
		return false, err
	}
	for _, c := range critical {
		if !slices.ContainsFunc(
			told,
			func(t callout.Parameter) bool { return t.FormatID == c.FormatID && t.Flag == c.Flag },
		) {
			return false, nil
		}
	}
	p.suppressed++
	return true, p.Log(ctx, activitylog.Entry{
		Category: activitylog.CriticalCallout, ReportID: r.ID, BillID: r.BillID, Actor: authn.Platform, At: p.now,
		Text: "Critical callout suppressed: a similar value of the patient was called out lately",
		Meta: suppression{Suppressed: true, WithinHours: int(p.repeatWithin.Hours())},
	})
}

func (p *pass) settle(ctx context.Context) error {
	if len(p.bills) == 0 {
		return nil
	}
	pace, err := p.Pace(ctx)
	if err != nil {
		return err
	}
	slices.Sort(p.bills)
	for _, bill := range slices.Compact(p.bills) {
		if err := escalate.Settle(ctx, p.Locked, p.d.Messages, bill, p.now, pace); err != nil {
			return fmt.Errorf("bill %d: %w", bill, err)
		}
	}
	return nil
}
