package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/history"
)

func (s *Store) Logs(
	ctx context.Context, scope authn.LabScope, reportIDs []int64, doctorID int64, most int,
) ([]history.Entry, error) {
	in, args := list(reportIDs)
	own := ""
	if doctorID != 0 {
		own = " AND EXISTS (SELECT 1 FROM billing b WHERE b.id = billId AND b.labId_id = lab_id AND b.docId_id = ?)"
		args = append(args, doctorID)
	}
	entries := []history.Entry{}
	err := each(ctx, s.db, "read activity log", "SELECT meta, labUserName, activityText, activityDate FROM ActivityLog"+
		" WHERE lab_id = ? AND category = ? AND labReportId IN ("+in+")"+own+" ORDER BY activityDate DESC, id DESC LIMIT ?",
		append(append([]any{scope.LabID(), activitylog.CriticalCallout}, args...), most), func(r *sql.Rows) error {
			var e history.Entry
			if err := r.Scan(&e.Meta, &e.UserName, &e.Text, &e.At); err != nil {
				return err
			}
			e.Meta = callout.Object(e.Meta)
			entries = append(entries, e)
			return nil
		})
	slices.Reverse(entries)
	return entries, err
}

// ofDoctor is the condition of reports (alias r) on bills of a doctor.
const ofDoctor = " AND EXISTS (SELECT 1 FROM billing b WHERE b.id = r.billId_id AND b.labId_id = r.labId_id AND b.docId_id = ?)"

// latest returns the join that limits callouts (alias c) to the newest of each report. A join is used because MySQL
// would evaluate an IN condition for every callout. Arguments: the laboratory, the reports and, if not 0, the doctor.
func latest(in string, doctorID int64) string {
	own := ""
	if doctorID != 0 {
		own = " AND m.referral_doc_id = ?"
	}
	return " JOIN (SELECT MAX(m.id) AS id FROM CriticalCallout m WHERE m.lab_id = ? AND m.lab_report_id IN (" + in + ")" + own +
		" GROUP BY m.lab_report_id) newest ON newest.id = c.id"
}

// ofDoctorID appends the doctor's id, an argument of latest, unless it is 0.
func ofDoctorID(args []any, doctorID int64) []any {
	if doctorID != 0 {
		args = append(args, doctorID)
	}
	return args
}

const (
	recordColumns = "SELECT c.id, c.lab_report_id, c.bill_id, IFNULL(o.orgFullName, ''), IFNULL(u.fullName, '')," +
		" IFNULL(d.docFullName, ''), IFNULL(w.fullName, ''), IFNULL(p.docFullName, '')," +
		" IFNULL(c.critical_callout_comment, ''), c.critical_callout_meta, c.critical_values_meta, c.recipients," +
		" c.created_on, c.names FROM CriticalCallout c"
	recordNames = " LEFT JOIN organization o ON o.id = c.org_id AND o.labId_id = c.lab_id" +
		" LEFT JOIN userDetails u ON u.id = c.user_details_id AND u.labId_id = c.lab_id" +
		" LEFT JOIN doctorDetails d ON d.id = c.referral_doc_id AND d.labId_id = c.lab_id" +
		" LEFT JOIN labUser w ON w.id = c.performed_by_user_id AND w.labId_id = c.lab_id" +
		" LEFT JOIN doctorDetails p ON p.id = c.performed_by_doctor_id AND p.labId_id = c.lab_id"
)

func (s *Store) Latest(
	ctx context.Context, scope authn.LabScope, reportIDs []int64, doctorID int64,
) (map[int64]history.Record, error) {
	in, args := list(reportIDs)
	found := map[int64]history.Record{}
	err := each(ctx, s.db, "read callouts", recordColumns+latest(in, doctorID)+recordNames,
		ofDoctorID(append([]any{scope.LabID()}, args...), doctorID), func(r *sql.Rows) error {
			var c history.Record
			var recipients, names []byte
			if err := r.Scan(&c.ID, &c.ReportID, &c.BillID, &c.Organization, &c.Patient, &c.Referral, &c.PerformedByUser,
				&c.PerformedByDoc, &c.Comment, &c.CalloutMeta, &c.ValuesMeta, &recipients, &c.CreatedOn, &names); err != nil {
				return err
			}
			c.Recipients = callout.Texts(recipients)
			keepNames(&c, names)
			c.CalloutMeta, c.ValuesMeta = callout.Object(c.CalloutMeta), callout.Object(c.ValuesMeta)
			found[c.ReportID] = c
			return nil
		})
	return found, err
}

// keepNames replaces the present names by those stored with the call. Rows of other programs have no stored names.
func keepNames(c *history.Record, stored []byte) {
	var n struct{ Org, Patient, Referral, User, Doctor string }
	if len(stored) == 0 || json.Unmarshal(stored, &n) != nil {
		return
	}
	c.Organization, c.Patient, c.Referral = n.Org, n.Patient, n.Referral
	c.PerformedByUser, c.PerformedByDoc = n.User, n.Doctor
}

// EraseNames removes a patient's name from callouts, as data protection law may require. It returns the number of
// changed rows and is idempotent.
func (s *Store) EraseNames(ctx context.Context, scope authn.LabScope, patientID int64) (int64, error) {
	result, err := s.db.ExecContext(ctx, "UPDATE CriticalCallout SET names = JSON_SET(names, '$.patient', '')"+
		" WHERE lab_id = ? AND user_details_id = ? AND names IS NOT NULL", scope.LabID(), patientID)
	if err != nil {
		return 0, wrap("erase names", err)
	}
	n, err := result.RowsAffected()
	return n, wrap("erase names", err)
}
