package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/save"
)

func (l *locked) DeleteDraft(ctx context.Context) error {
	_, err := l.tx.ExecContext(
		ctx,
		"DELETE FROM CriticalCallout WHERE lab_id = ? AND draft_bill_id = ?",
		l.scope.LabID(),
		l.bill.ID,
	)
	return wrap("delete draft", err)
}

func (l *locked) Add(ctx context.Context, r save.Row) error {
	recipients := r.Recipients
	if recipients == nil {
		recipients = []string{}
	}
	names, err := json.Marshal(recipients)
	if err != nil {
		return fmt.Errorf("add callout: %w", err)
	}
	_, err = l.tx.ExecContext(ctx, "INSERT INTO CriticalCallout (lab_id, bill_id, lab_report_id, org_id, user_details_id,"+
		" referral_doc_id, performed_by_user_id, performed_by_doctor_id, recipients, critical_callout_comment,"+
		" critical_values_meta, critical_callout_meta, created_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		l.scope.LabID(), r.Bill.ID, idOrNull(r.ReportID), idOrNull(r.Bill.OrgID), idOrNull(r.Bill.PatientID),
		idOrNull(r.Bill.DoctorID), idOrNull(r.UserID), idOrNull(r.DoctorID), string(names), r.Comment,
		string(r.ValuesMeta), string(r.CalloutMeta), r.At.UTC())
	return wrap("add callout", err)
}

func idOrNull(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

// Told implements evaluate.Locked and save.Locked.
func (l *locked) Told(ctx context.Context, reportIDs []int64) (map[int64]callout.Snapshot, error) {
	told := map[int64]callout.Snapshot{}
	in, args := list(reportIDs)
	const query = "SELECT c.lab_report_id, c.critical_values_meta FROM CriticalCallout c"
	err := each(ctx, l.tx, "read callouts", query+latest(in), append([]any{l.scope.LabID()}, args...),
		func(r *sql.Rows) error {
			var id int64
			var meta []byte
			if err := r.Scan(&id, &meta); err != nil {
				return err
			}
			if s, ok := callout.ReadSnapshot(meta, id); ok {
				told[id] = s
			}
			return nil
		})
	return told, err
}

func (l *locked) Heard(ctx context.Context, billID, reportID int64) (heard []callout.Parameter, err error) {
	err = each(ctx, l.tx, "read attempt", "SELECT critical_values_meta, critical_callout_meta FROM CriticalCallout"+
		" WHERE lab_id = ? AND draft_bill_id = ?", []any{l.scope.LabID(), billID},
		func(r *sql.Rows) error {
			var values, meta []byte
			err := r.Scan(&values, &meta)
			heard = callout.HeardOf(values, meta, reportID)
			return err
		})
	return heard, err
}

func (l *locked) Calls(ctx context.Context, patientID int64, since time.Time) ([]callout.Call, error) {
	var calls []callout.Call
	err := each(ctx, l.tx, "read callouts of a patient",
		"SELECT c.lab_report_id, c.critical_values_meta, c.critical_callout_meta FROM CriticalCallout c"+
			" JOIN labReportRelation r ON r.id = c.lab_report_id AND r.labId_id = c.lab_id"+
			" WHERE c.lab_id = ? AND r.userDetailsId_id = ? AND c.created_on >= ? ORDER BY c.id",
		[]any{l.scope.LabID(), patientID, since.UTC()},
		func(r *sql.Rows) error {
			var id int64
			var values, meta []byte
			if err := r.Scan(&id, &values, &meta); err != nil {
				return err
			}
			calls = append(calls, callout.CallsOf(values, meta, id)...)
			return nil
		})
	return calls, err
}
