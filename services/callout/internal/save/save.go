// Package save records calls about critical results, and attempts.
package save

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

// Store locks bills.
type Store interface {
	// ChangeBill locks the given reports that are on the bill and visible, loads their facts, calls decide and writes the
	// decisions, all in one transaction. It returns callout.ErrNoBill if the laboratory does not have the bill.
	ChangeBill(
		ctx context.Context, scope authn.LabScope, billID int64, reportIDs []int64, v callout.Visibility,
		decide func([]callout.Facts) ([]callout.Decision, error),
	) ([]callout.Decision, error)
	// MovedTo returns the present bill of a visible report if it is another bill of the same patient, and belongs to the
	// order of the given bill or the report has a wait or a statement on the given bill; otherwise 0.
	MovedTo(
		ctx context.Context, scope authn.LabScope, billID, reportID int64, v callout.Visibility,
	) (newBillID int64, err error)
}

// Counters counts recorded callouts and attempts.
type Counters interface {
	Saved(draft bool, reports int)
}

// Deps are the dependencies of the use case. WakeRelay is called after a commit.
type Deps struct {
	Store     Store
	Clock     clock.Clock
	WakeRelay func()
	Counters  Counters
	Signals   evaluate.Signals
}

// UseCase saves callouts.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

// Save records the callout or the attempt. It returns Attempted if it recorded an attempt for any report, otherwise
// Done. A spoken callout that was not read back is recorded as an attempt if the laboratory's settings require
// read-back.
func (u *UseCase) Save(ctx context.Context, scope authn.LabScope, by Performer, c Callout) (callout.Status, error) {
	c, err := c.checked(u.d.Clock.Now())
	if err != nil {
		return 0, err
	}
	decisions, err := u.d.Store.ChangeBill(ctx, scope, c.BillID, c.ReportIDs, by.Sees,
		func(facts []callout.Facts) ([]callout.Decision, error) { return c.decide(facts, by, u.d.Clock.Now()) })
	if err != nil {
		return 0, u.explained(ctx, scope, by, c.BillID, err)
	}
	u.d.WakeRelay()
	u.d.Signals.Changed(ctx, scope)
	attempted := slices.ContainsFunc(decisions, func(d callout.Decision) bool {
		return d.Recorded.Kind == callout.Attempt
	})
	u.d.Counters.Saved(attempted, len(c.ReportIDs))
	if attempted {
		return callout.Attempted, nil
	}
	return callout.Done, nil
}

// explained replaces the error about a report that is not on the bill: if a split moved the report, the new error names
// its present bill.
func (u *UseCase) explained(
	ctx context.Context, scope authn.LabScope, by Performer, billID int64, refusal error,
) error {
	missing := (*notOnBill)(nil)
	if !errors.As(refusal, &missing) {
		return refusal
	}
	moved, err := u.d.Store.MovedTo(ctx, scope, billID, missing.reportID, by.Sees)
	switch {
	case err != nil:
		return err
	case moved == 0:
		return errNotOnBill(missing.reportID)
	}
	return errBillChanged(missing.reportID, moved)
}

// decide decides about all reports of the callout. If the callout is refused for one report, it is refused as a whole.
func (c *Callout) decide(facts []callout.Facts, by Performer, now time.Time) ([]callout.Decision, error) {
	for _, id := range c.ReportIDs {
		if !slices.ContainsFunc(facts, func(f callout.Facts) bool { return f.Report.ID == id }) {
			return nil, &notOnBill{id}
		}
	}
	decisions := make([]callout.Decision, len(facts))
	refused := map[callout.Refusal][]int64{}
	for i := range facts {
		decisions[i] = callout.Decide(&facts[i], callout.Event{Call: c.call(&facts[i])}, now)
		if why := decisions[i].Refused; why != callout.Accepted {
			refused[why] = append(refused[why], facts[i].Report.ID)
		}
	}
	if err := c.refusal(refused, facts, now); err != nil {
		return nil, err
	}
	return decisions, c.complete(decisions, by)
}

// call returns the callout as the event for one report.
func (c *Callout) call(f *callout.Facts) *callout.NewCall {
	n := &callout.NewCall{
		Draft: c.Draft, Force: c.Force, ReadBack: c.heard(), SaidAt: c.toldAt,
		Reached: c.Outcome == callout.NoReadBack || !c.Draft && c.heard(),
		Unheard: f.Settings.ReadBackNeeded && c.spoken() && !c.heard(),
	}
	n.Reached = n.Reached || n.Unheard && !c.Draft
	if c.Person != "" {
		n.Persons = []string{c.Person}
	}
	if len(c.Told) == 0 {
		return n
	}
	n.Told = []callout.ToldValue{}
	for _, told := range c.Told {
		if told.ReportID == f.Report.ID {
			n.Told = append(n.Told, callout.ToldValue{FormatID: told.FormatID, RawValue: told.RawValue})
		}
	}
	return n
}

func (c *Callout) refusal(refused map[callout.Refusal][]int64, facts []callout.Facts, now time.Time) error {
	switch {
	case len(refused[callout.RefusedTooEarly]) > 0:
		return errTooEarly(refused[callout.RefusedTooEarly][0], facts, now)
	case len(refused[callout.RefusedDone]) > 0:
		return errDone(refused[callout.RefusedDone], c.Draft)
	case len(refused[callout.RefusedNothing]) > 0:
		return errNotCritical(refused[callout.RefusedNothing])
	case len(refused[callout.RefusedChanged]) > 0:
		return errChanged(refused[callout.RefusedChanged])
	}
	return nil
}

// complete adds the CriticalCallout rows and the history entries to the decisions. A call has a row per report. An
// attempt has one row for all its reports: the draft of the bill.
func (c *Callout) complete(decisions []callout.Decision, by Performer) error {
	drafted, tests := callout.Snapshots{}, []int64{}
	for i := range decisions {
		if d := &decisions[i]; d.Recorded.Kind == callout.Attempt {
			drafted[callout.ReportKey(d.Report.ID)] = snapshot(d)
			tests = append(tests, d.Report.Test.ID)
		}
	}
	for i := range decisions {
		d := &decisions[i]
		values, meta := drafted, c.meta(by, tests)
		if d.Recorded.Kind == callout.Attempt {
			if !c.Draft {
				meta.Outcome = callout.NoReadBack
			}
		} else {
			values = callout.Snapshots{callout.ReportKey(d.Report.ID): snapshot(d)}
			meta = c.meta(by, []int64{d.Report.Test.ID})
			meta.Corrected = d.Corrected
			if w := d.Before; w != nil && !w.Adopted {
				meta.DetectedAt = w.DetectedAt.UTC().Format(time.RFC3339)
			}
		}
		if err := c.record(d, by, values, meta); err != nil {
			return err
		}
		d.Logs = slices.Insert(d.Logs, 0, c.entry(d, by))
	}
	return nil
}

func snapshot(d *callout.Decision) callout.Snapshot {
	return callout.Snapshot{
		TestID: d.Report.Test.ID, TestName: d.Report.Test.Name, Parameters: d.Said, Corrected: d.Corrected,
	}
}

func (c *Callout) record(d *callout.Decision, by Performer, s callout.Snapshots, m callout.Meta) error {
	values, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode values: %T", s) // err is omitted, because it may quote a value
	}
	meta, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode meta: %w", err)
	}
	recipients := c.Recipients
	if recipients == nil {
		recipients = []string{}
	}
	d.Recorded.Record = &callout.Record{
		UserID: by.UserID, DoctorID: by.DoctorID, Performer: by.Actor, Recipients: recipients, Comment: c.Comment,
		ValuesMeta: values, CalloutMeta: meta,
	}
	return nil
}

// logMeta is the documented meta of an entry of category 648 (critical callouts), extended by the fields required for
// accreditation.
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

func errTooEarly(id int64, facts []callout.Facts, now time.Time) error {
	i := slices.IndexFunc(facts, func(f callout.Facts) bool { return f.Report.ID == id })
	return apperr.InvalidField("notified_at", fmt.Sprintf(
		"notified_at lies before the result of report %d can have been known, at %s: give the time of the call",
		id, facts[i].EarliestCall(now).UTC().Format(time.RFC3339)))
}
