// Package save owns the recording of a callout: that someone was told of a critical result, or that someone tried.
package save

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
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
	escalate.Outbox
	Bill() callout.Bill
	// Reports are those of the bill that were asked for, are not dismissed and may be seen, by id.
	Reports() []callout.Report
	Formats() callout.Formats
	// LastEpisodes returns the open episode of each report, or the one that was open last; absent without any.
	LastEpisodes(ctx context.Context, reportIDs []int64) (map[int64]callout.Episode, error)
	// Told returns what was communicated last of each report; absent where no callout is known.
	Told(ctx context.Context, reportIDs []int64) (map[int64]callout.Snapshot, error)
	Settings(ctx context.Context) (callout.Settings, error)
	Move(ctx context.Context, reportID int64, from, to callout.Status) error
	CloseEpisode(ctx context.Context, reportID int64, at time.Time, by string) error
	DeleteDraft(ctx context.Context) error
	Add(ctx context.Context, r Row) error
	Log(ctx context.Context, e activitylog.Entry) error
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
// callout never exist together; the reports move; the history and the deadlines follow. It returns the state that the
// reports have then: a spoken callout that no one repeated is an attempt, unless the laboratory allows it.
func (u *UseCase) Save(ctx context.Context, scope authn.LabScope, by Performer, c Callout) (callout.Status, error) {
	c, err := c.checked(u.d.Clock.Now())
	if err != nil {
		return 0, err
	}
	var w write
	err = u.d.Store.LockBill(ctx, scope, c.BillID, c.ReportIDs, by.Sees, func(l Locked) error {
		w = write{Locked: l, d: u.d, scope: scope, by: by, c: c, now: u.d.Clock.Now()} // a retried transaction starts over
		return w.run(ctx)
	})
	if err != nil {
		return 0, err
	}
	u.d.WakeRelay()
	u.d.Signals.Changed(ctx, scope)
	waits := len(w.drafted) > 0
	u.d.Counters.Saved(waits, len(c.ReportIDs))
	if waits {
		return callout.Attempted, nil
	}
	return callout.Done, nil
}

// write is one transaction.
type write struct {
	Locked
	d     Deps
	scope authn.LabScope
	by    Performer
	c     Callout
	now   time.Time

	attempt  bool             // reports that wait continue waiting
	drafted  []callout.Report // those that do
	episodes map[int64]callout.Episode
	told     map[int64]callout.Snapshot
}

func (w *write) run(ctx context.Context) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	snapshots, err := w.judge()
	if err != nil {
		return err
	}
	if err := w.DeleteDraft(ctx); err != nil {
		return err
	}
	for _, r := range w.Reports() {
		if w.event(r) == callout.Attempt {
			w.drafted = append(w.drafted, r)
		}
		if err := w.report(ctx, r, snapshots); err != nil {
			return fmt.Errorf("report %d: %w", r.ID, err)
		}
	}
	if len(w.drafted) > 0 {
		if err := w.draft(ctx, snapshots); err != nil {
			return err
		}
	}
	return escalate.Wake(ctx, w, w.d.Messages, w.scope.LabID(), []int64{w.c.BillID})
}

func (w *write) load(ctx context.Context) error {
	settings, err := w.Settings(ctx)
	if err != nil {
		return err
	}
	w.attempt = w.c.Draft || settings.ReadBackNeeded && w.c.spoken() && !w.c.heard()
	ids := make([]int64, len(w.Reports()))
	for i, r := range w.Reports() {
		ids[i] = r.ID
	}
	if w.episodes, err = w.LastEpisodes(ctx, ids); err != nil {
		return err
	}
	w.told, err = w.Told(ctx, ids)
	return err
}

// event is what the callout does to a report. force records one more call about what was called already, or was waiting
// until it was withdrawn: someone may have been told of it.
func (w *write) event(r callout.Report) callout.Event {
	known := len(w.known(r.ID)) > 0
	switch {
	case w.c.Draft:
		return callout.Attempt
	case w.c.Force && (r.Status == callout.Done || known && !r.Status.Open()):
		return callout.Repeat
	case w.attempt:
		return callout.Attempt
	default:
		return callout.Complete
	}
}

// known is what was told last of a report, or what it waited for last.
func (w *write) known(reportID int64) []callout.Parameter {
	if told, ok := w.told[reportID]; ok {
		return told.Parameters
	}
	return w.episodes[reportID].Parameters
}

// judge checks that every report can be called out and keeps what is communicated about it.
func (w *write) judge() (callout.Snapshots, error) {
	found := map[int64]bool{}
	snapshots := callout.Snapshots{}
	var done, notCritical, changed []int64
	for _, r := range w.Reports() {
		found[r.ID] = true
		if err := w.checkTime(r); err != nil {
			return nil, err
		}
		switch s, ok := w.snapshot(r); {
		case ok && !w.c.tells(r.ID, s.Parameters):
			changed = append(changed, r.ID)
		case ok:
			snapshots[callout.Key(r.ID)] = s
		case r.Status == callout.Done && w.event(r) != callout.Repeat:
			done = append(done, r.ID)
		default:
			notCritical = append(notCritical, r.ID)
		}
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
	case len(changed) > 0:
		return nil, errChanged(changed)
	}
	return snapshots, nil
}

// snapshot is what is communicated of a report: what it waits for, or, once more, what is critical now; a correction
// when nothing is, which tells what was communicated before. ok is false when there is nothing to tell.
func (w *write) snapshot(r callout.Report) (s callout.Snapshot, ok bool) {
	s = callout.Snapshot{TestID: r.Test.ID, TestName: r.Test.Name}
	event := w.event(r)
	if _, ok := r.Status.After(event); !ok {
		return s, false
	}
	finding := callout.Judge(r.Chart, w.Formats())
	if event != callout.Repeat {
		wait := w.episodes[r.ID]
		s.Parameters = finding.Shown(wait.Parameters)
		return s, len(s.Parameters) > 0 || !finding.Clears(&wait) // another program may have set it to wait, for nothing
	}
	s.Parameters = finding.Critical
	if len(finding.Critical) == 0 {
		s.Parameters, s.Corrected = w.known(r.ID), true
	}
	return s, len(s.Parameters) > 0
}

// checkTime refuses a call about a result that no one could know yet. People say the minute.
func (w *write) checkTime(r callout.Report) error {
	e, ok := w.episodes[r.ID]
	if !ok || e.Adopted || w.c.Draft || !w.c.toldAt.Before(e.DetectedAt.Truncate(time.Minute)) {
		return nil
	}
	return apperr.InvalidField("notified_at", fmt.Sprintf(
		"notified_at lies before the result of report %d was found at %s: give the time of the call",
		r.ID, e.DetectedAt.UTC().Format(time.RFC3339)))
}

func (w *write) report(ctx context.Context, r callout.Report, all callout.Snapshots) error {
	event := w.event(r)
	to, _ := r.Status.After(event)
	if to != r.Status {
		if err := w.Move(ctx, r.ID, r.Status, to); err != nil {
			return err
		}
	}
	snapshot := all[callout.Key(r.ID)]
	if event != callout.Attempt {
		meta := w.c.meta(w.by, []int64{r.Test.ID})
		meta.Corrected = snapshot.Corrected
		if e, ok := w.episodes[r.ID]; ok && !e.Adopted {
			meta.DetectedAt = e.DetectedAt.UTC().Format(time.RFC3339)
		}
		if err := w.add(ctx, r.ID, callout.Snapshots{callout.Key(r.ID): snapshot}, meta); err != nil {
			return err
		}
	}
	if event == callout.Complete {
		if err := w.CloseEpisode(ctx, r.ID, w.toldAt(r.ID), "called"); err != nil {
			return err
		}
	}
	return w.Log(ctx, w.c.entry(r, event, snapshot.Corrected, w.by, w.now))
}

// toldAt is when someone was told: the figures measure to then, not to when it was written down.
func (w *write) toldAt(reportID int64) time.Time {
	at := w.c.toldAt
	if detected := w.episodes[reportID].DetectedAt; at.Before(detected) {
		return detected
	}
	return at
}

func (w *write) draft(ctx context.Context, snapshots callout.Snapshots) error {
	var tests []int64
	kept := callout.Snapshots{}
	for _, r := range w.drafted {
		tests = append(tests, r.Test.ID)
		kept[callout.Key(r.ID)] = snapshots[callout.Key(r.ID)]
	}
	meta := w.c.meta(w.by, tests)
	if !w.c.Draft {
		meta.Outcome = callout.NoReadBack
	}
	return w.add(ctx, 0, kept, meta)
}

func (w *write) add(ctx context.Context, reportID int64, s callout.Snapshots, m callout.Meta) error {
	values, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode values: %T", s) // the encoder's error may quote a value
	}
	meta, err := json.Marshal(m)
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
	Corrected      bool            `json:"corrected,omitempty"`
	activitylog.Change[state]
}

type state struct {
	CriticalValues string `json:"criticalValues"`
}
