package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// apply writes decisions to the tables and the outbox.
func (l *locked) apply(ctx context.Context, decisions []callout.Decision) error {
	for i := range decisions {
		if err := l.applyOne(ctx, &decisions[i]); err != nil {
			return fmt.Errorf("report %d: %w", decisions[i].Report.ID, err)
		}
	}
	if err := l.addStatements(ctx, decisions); err != nil {
		return err
	}
	if err := l.send(ctx, decisions); err != nil {
		return err
	}
	if err := l.noteEvaluated(ctx, decisions); err != nil {
		return err
	}
	return l.judgeSuppressedAgain(ctx, decisions)
}

func (l *locked) applyOne(ctx context.Context, d *callout.Decision) error {
	if d.Status != d.Report.Status && !d.Report.Deleted {
		if err := l.move(ctx, d.Report.ID, d.Report.Status, d.Status); err != nil {
			return err
		}
	}
	if err := l.changeWait(ctx, d); err != nil {
		return err
	}
	if err := l.addCallout(ctx, d); err != nil {
		return err
	}
	if err := l.unmarkSilenced(ctx, d); err != nil {
		return err
	}
	if d.LookedAt > 0 {
		_, err := l.tx.ExecContext(ctx, "UPDATE callout_unconfirmed SET looked_at = ? WHERE lab_report_id = ? AND lab_id = ?",
			d.LookedAt, d.Report.ID, l.scope.LabID())
		if err != nil {
			return wrap("note unconfirmed values", err)
		}
	}
	for _, e := range d.Logs {
		err := l.Log(ctx, activitylog.Entry{
			Category: activitylog.CriticalCallout, ReportID: d.Report.ID, BillID: d.Report.BillID, Actor: e.By,
			At: l.store.clock.Now(), Text: e.Text, Meta: e.Meta,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *locked) changeWait(ctx context.Context, d *callout.Decision) error {
	if d.WaitChange == callout.WaitClosed || d.WaitChange == callout.WaitRenewed {
		if err := l.closeWait(ctx, d); err != nil {
			return err
		}
	}
	switch d.WaitChange {
	case callout.WaitOpened, callout.WaitRenewed:
		return l.openWait(ctx, d.Wait)
	case callout.WaitChanged:
		return l.saveWait(ctx, d.Wait)
	}
	return nil
}

// addCallout adds the CriticalCallout row of a call. A bill has one draft, which the newest attempt replaces.
func (l *locked) addCallout(ctx context.Context, d *callout.Decision) (err error) {
	s := d.Recorded
	if s == nil {
		if d.WaitChange == callout.WaitClosed {
			return l.dropDrafts(ctx, &d.Report)
		}
		return nil
	}
	report := d.Report.ID
	if s.Kind == callout.Attempt {
		report = 0
		if err := l.deleteDraft(ctx, d.Report.BillID); err != nil {
			return err
		}
	}
	if s.CalloutID, err = l.insertCallout(ctx, d, report); err != nil {
		return err
	}
	if err := l.endClaim(ctx, d.Report.ID, s.Record.Performer); err != nil {
		return err
	}
	if s.Kind == callout.Attempt {
		s.CalloutID = 0 // not stored, because the next attempt replaces the draft's row
		return nil
	}
	return l.dropDrafts(ctx, &d.Report)
}

// send writes the messages to the outbox. Overdue reports of one bill share one notice, that of the highest level.
func (l *locked) send(ctx context.Context, decisions []callout.Decision) error {
	for _, m := range callout.Grouped(decisions) {
		event, err := l.store.messages.Encode(l.scope.LabID(), m)
		if err := l.insert(ctx, event, err); err != nil {
			return err
		}
	}
	var wake []int64
	for i := range decisions {
		if decisions[i].Wake {
			wake = append(wake, decisions[i].Report.BillID)
		}
	}
	slices.Sort(wake)
	for _, bill := range slices.Compact(wake) {
		event, err := l.store.messages.Wake(l.scope.LabID(), bill)
		if err := l.insert(ctx, event, err); err != nil {
			return err
		}
	}
	return nil
}

// insert adds an event to the outbox. err is the result of its encoding; if set, insert returns it.
func (l *locked) insert(ctx context.Context, event outbox.Event, err error) error {
	if err == nil {
		_, err = l.store.outbox.Insert(ctx, l.tx, l.store.clock.Now(), event)
	}
	return wrap("send", err)
}

// noteEvaluated stores the inputs of the evaluations, and the update times of the report rows as this transaction
// leaves them. It stores nothing for reports whose values have not settled, so that the sweeper evaluates them again.
func (l *locked) noteEvaluated(ctx context.Context, decisions []callout.Decision) error {
	var rows []string
	var args []any
	for i := range decisions {
		d := &decisions[i]
		if d.Early || d.Report.Deleted {
			continue
		}
		in := l.inputs[d.Report.ID]
		row := "SELECT ?, CAST(? AS DATETIME(6)), CAST(? AS DATETIME(6)), ?"
		if len(rows) == 0 {
			row = "SELECT ? AS id, CAST(? AS DATETIME(6)) AS patient, CAST(? AS DATETIME(6)) AS bill, ? AS times"
		}
		rows, args = append(rows, row), append(args, d.Report.ID, in.patient, in.bill, in.values)
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := l.tx.ExecContext(ctx, "INSERT INTO callout_evaluation (lab_report_id, report_updated_on, patient_updated_on, bill_updated_on,"+
		" values_sum) SELECT r.id, r.updatedOn, v.patient, v.bill, v.times FROM ("+strings.Join(rows, " UNION ALL ")+") v"+
		" JOIN labReportRelation r ON r.id = v.id AND r.labId_id = ? ON DUPLICATE KEY UPDATE report_updated_on = VALUES(report_updated_on),"+
		" patient_updated_on = VALUES(patient_updated_on), bill_updated_on = VALUES(bill_updated_on), values_sum = VALUES(values_sum)",
		append(args, l.scope.LabID())...)
	return wrap("note evaluation", err)
}

// judgeSuppressedAgain marks reports with suppressed calls for the sweeper, because the call on which the suppression
// is based may have changed. It marks reports of the same patients, and reports whose suppression refers to a call of
// these reports, even if they now belong to another patient.
func (l *locked) judgeSuppressedAgain(ctx context.Context, decisions []callout.Decision) error {
	var patients []int64
	var called []string
	except := []int64{}
	for i := range decisions {
		d := &decisions[i]
		if !d.Repeating || !d.Changed() && d.Suppressing {
			continue
		}
		patients, except = append(patients, d.Report.PatientID), append(except, d.Report.ID)
		if d.Called {
			called = append(called, fmt.Sprintf("%d/%%", d.Report.ID))
		}
	}
	if len(patients) == 0 {
		return nil
	}
	in, args := list(patients)
	not, more := list(except)
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_evaluation v JOIN labReportRelation r ON r.id = v.lab_report_id SET v.values_sum = -1"+
		" WHERE r.labId_id = ? AND r.userDetailsId_id IN ("+in+") AND r.id NOT IN ("+not+")"+
		" AND EXISTS (SELECT 1 FROM callout_statement s"+
		" WHERE s.lab_report_id = r.id AND s.kind = 'suppression')", append(append([]any{l.scope.LabID()}, args...), more...)...)
	for i := 0; i < len(called) && err == nil; i++ {
		_, err = l.tx.ExecContext(ctx, "UPDATE callout_evaluation v JOIN callout_statement s ON s.lab_report_id = v.lab_report_id"+
			" SET v.values_sum = -1 WHERE s.lab_id = ? AND s.kind = 'suppression' AND s.because LIKE ?", l.scope.LabID(), called[i])
	}
	return wrap("judge suppressed reports again", err)
}

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
