package mysql

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

func (l *locked) deleteDraft(ctx context.Context, billID int64) error {
	_, err := l.tx.ExecContext(ctx, "DELETE FROM CriticalCallout WHERE lab_id = ? AND draft_bill_id = ?", l.scope.LabID(), billID)
	return wrap("delete draft", err)
}

// dropDrafts deletes the drafts of the report's bill and of earlier bills of the report that have an attempt about it.
// A draft stays while another report of its bill is attempted.
func (l *locked) dropDrafts(ctx context.Context, r *callout.Report) error {
	bills := []int64{r.BillID}
	const attempts = "SELECT DISTINCT bill_id FROM callout_statement WHERE lab_report_id = ? AND lab_id = ? AND kind = 'attempt'"
	if err := each(ctx, l.tx, "find attempts", attempts, []any{r.ID, l.scope.LabID()}, scanIDs(&bills)); err != nil {
		return err
	}
	in, args := list(bills)
	_, err := l.tx.ExecContext(ctx, "DELETE FROM CriticalCallout WHERE lab_id = ? AND draft_bill_id IN ("+in+") AND NOT EXISTS"+
		" (SELECT 1 FROM labReportRelation r WHERE r.labId_id = CriticalCallout.lab_id AND r.billId_id = CriticalCallout.draft_bill_id"+
		" AND r.dismissed = 0 AND r.criticalValues = ?)",
		append(append([]any{l.scope.LabID()}, args...), callout.Attempted)...)
	return wrap("drop drafts", err)
}

// insertCallout adds a row of CriticalCallout with the names at the time of the call. With reportID 0, the row is the
// draft of the bill.
func (l *locked) insertCallout(ctx context.Context, d *callout.Decision, reportID int64) (int64, error) {
	r := d.Recorded.Record
	recipients, err := json.Marshal(r.Recipients)
	if err != nil {
		return 0, fmt.Errorf("add callout: %w", err)
	}
	b := d.Report.Bill
	user, doctor := "", r.Performer.Name
	if r.DoctorID == 0 {
		user, doctor = r.Performer.Name, ""
	}
	lab := l.scope.LabID()
	result, err := l.tx.ExecContext(ctx, "INSERT INTO CriticalCallout (lab_id, bill_id, lab_report_id, org_id, user_details_id,"+
		" referral_doc_id, performed_by_user_id, performed_by_doctor_id, recipients, critical_callout_comment,"+
		" critical_values_meta, critical_callout_meta, created_on, names) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, JSON_OBJECT("+
		"'org', IFNULL((SELECT orgFullName FROM organization WHERE id = ? AND labId_id = ?), ''),"+
		" 'patient', IFNULL((SELECT fullName FROM userDetails WHERE id = ? AND labId_id = ?), ''),"+
		" 'referral', IFNULL((SELECT docFullName FROM doctorDetails WHERE id = ? AND labId_id = ?), ''), 'user', ?, 'doctor', ?))",
		lab, b.ID, idOrNull(reportID), idOrNull(b.OrgID), idOrNull(b.PatientID), idOrNull(b.DoctorID), idOrNull(r.UserID),
		idOrNull(r.DoctorID), string(recipients), r.Comment, string(r.ValuesMeta), string(r.CalloutMeta),
		l.store.clock.Now().UTC(), b.OrgID, lab, b.PatientID, lab, b.DoctorID, lab, user, doctor)
	if err != nil {
		return 0, wrap("add callout", err)
	}
	id, err := result.LastInsertId()
	return id, wrap("add callout", err)
}
