// Package save owns the recording of a callout: that somebody was told of a critical result, or that somebody tried.
package save

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
)

// Row is a row of CriticalCallout. ReportID 0 is the draft of the bill. Ids that are not known are 0.
type Row struct {
	Bill        callout.Bill
	ReportID    int64
	UserID      int64
	DoctorID    int64
	Recipients  []string
	Comment     string
	ValuesMeta  []byte
	CalloutMeta []byte
	At          time.Time
}

// Locked holds the bill and the reports that were asked for.
type Locked interface {
	escalate.Locked
	Bill() callout.Bill
	// Reports are those of the bill that were asked for, are not dismissed and may be seen, by id.
	Reports() []callout.Report
	Formats() callout.Formats
	Move(ctx context.Context, reportID int64, from, to callout.Status) error
	CloseEpisode(ctx context.Context, reportID int64, at time.Time, by string) error
	DeleteDraft(ctx context.Context) error
	Add(ctx context.Context, r Row) error
}

// Store locks bills.
type Store interface {
	// LockBill runs work in a transaction that holds the bill, then the reports. A bill that the laboratory does not have
	// is callout.ErrNoBill.
	LockBill(
		ctx context.Context,
		scope authn.LabScope,
		billID int64,
		reportIDs []int64,
		v callout.Visibility,
		work func(Locked) error,
	) error
}

// Counters counts callouts.
type Counters interface {
	Saved(draft bool, reports int)
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

// UseCase saves callouts.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

// Save records the callout or the draft in one transaction: the earlier draft goes, so that a draft and a completed
// callout never exist together; the reports move; the history and the clock follow.
func (u *UseCase) Save(ctx context.Context, scope authn.LabScope, by Performer, c Callout) (callout.Status, error) {
	c, err := c.checked(u.d.Clock.Now())
	if err != nil {
		return 0, err
	}
	err = u.d.Store.LockBill(ctx, scope, c.BillID, c.ReportIDs, by.Sees, func(l Locked) error {
		w := write{Locked: l, d: u.d, by: by, c: c, now: u.d.Clock.Now()}
		return w.run(ctx)
	})
	if err != nil {
		return 0, err
	}
	u.d.WakeRelay()
	u.d.Signals.Changed(ctx, scope)
	u.d.Counters.Saved(c.Draft, len(c.ReportIDs))
	if c.Draft {
		return callout.Attempted, nil
	}
	return callout.Done, nil
}

// write is one transaction.
type write struct {
	Locked
	d   Deps
	by  Performer
	c   Callout
	now time.Time
}

func (w *write) run(ctx context.Context) error {
	snapshots, err := w.judge()
	if err != nil {
		return err
	}
	if err := w.DeleteDraft(ctx); err != nil {
		return err
	}
	for _, r := range w.Reports() {
		if err := w.report(ctx, r, snapshots); err != nil {
			return fmt.Errorf("report %d: %w", r.ID, err)
		}
	}
	if w.c.Draft {
		return w.draft(ctx, snapshots)
	}
	pace, err := w.Pace(ctx)
	if err != nil {
		return err
	}
	return escalate.Settle(ctx, w.Locked, w.d.Messages, w.c.BillID, w.now, pace)
}

// event is what the callout does to a report in state s.
func (w *write) event(s callout.Status) callout.Event {
	switch {
	case w.c.Draft:
		return callout.Attempt
	case s == callout.Done && w.c.Force:
		return callout.Repeat
	default:
		return callout.Complete
	}
}

// judge checks that every report can be called out and keeps what is critical about it now.
func (w *write) judge() (callout.Snapshots, error) {
	found := map[int64]bool{}
	snapshots := callout.Snapshots{}
	var done, notCritical []int64
	for _, r := range w.Reports() {
		found[r.ID] = true
		if _, ok := r.Status.After(w.event(r.Status)); !ok {
			if r.Status == callout.Done {
				done = append(done, r.ID)
			} else {
				notCritical = append(notCritical, r.ID)
			}
			continue
		}
		f := callout.Judge(r.Chart, w.Formats())
		if len(f.Critical) == 0 {
			notCritical = append(notCritical, r.ID)
			continue
		}
		snapshots[callout.Key(r.ID)] = callout.Snapshot{TestID: r.Test.ID, TestName: r.Test.Name, Parameters: f.Critical}
	}
	for _, id := range w.c.ReportIDs {
		if !found[id] {
			return nil, errNotOnBill(id)
		}
	}
	switch {
	case len(done) > 0:
		return nil, errDone(done, w.c.Draft)
	case len(notCritical) > 0:
		return nil, errNotCritical(notCritical)
	}
	return snapshots, nil
}

func (w *write) report(ctx context.Context, r callout.Report, all callout.Snapshots) error {
	to, _ := r.Status.After(w.event(r.Status))
	if to != r.Status {
		if err := w.Move(ctx, r.ID, r.Status, to); err != nil {
			return err
		}
	}
	if !w.c.Draft {
		one := callout.Snapshots{callout.Key(r.ID): all[callout.Key(r.ID)]}
		if err := w.add(ctx, r.ID, one, []int64{r.Test.ID}); err != nil {
			return err
		}
		if err := w.CloseEpisode(ctx, r.ID, w.now, "called"); err != nil {
			return err
		}
	}
	return w.Log(ctx, w.c.entry(r, w.by, w.now))
}

func (w *write) draft(ctx context.Context, snapshots callout.Snapshots) error {
	var tests []int64
	for _, r := range w.Reports() {
		tests = append(tests, r.Test.ID)
	}
	return w.add(ctx, 0, snapshots, tests)
}

func (w *write) add(ctx context.Context, reportID int64, s callout.Snapshots, tests []int64) error {
	values, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode values: %T", s) // the encoder's error may quote a value
	}
	meta, err := json.Marshal(w.c.meta(w.by, tests))
	if err != nil {
		return fmt.Errorf("encode meta: %w", err)
	}
	return w.Add(ctx, Row{
		Bill: w.Bill(), ReportID: reportID, UserID: w.by.UserID, DoctorID: w.by.DoctorID, Recipients: w.c.Recipients,
		Comment: w.c.Comment, ValuesMeta: values, CalloutMeta: meta, At: w.now,
	})
}

// logMeta is the documented meta of an entry of category 648, and what accreditation asks for.
type logMeta struct {
	IsDraft        bool            `json:"is_draft"`
	Method         string          `json:"method"`
	Recipients     string          `json:"recipients"`
	ReadBack       *bool           `json:"read_back,omitempty"`
	Outcome        callout.Outcome `json:"outcome,omitempty"`
	NotifiedPerson string          `json:"notified_person,omitempty"`
	NotifiedAt     string          `json:"notified_at,omitempty"`
	activitylog.Change[state]
}

type state struct {
	CriticalValues string `json:"criticalValues"`
}
