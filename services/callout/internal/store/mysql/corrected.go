package mysql

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// correctedReports selects statements that take back a heard statement, each with the time of the newest callout since.
const correctedReports = "SELECT r.id, r.billId_id, IFNULL(b.labBillId, 0), r.reportID_id, IFNULL(t.testName, '')," +
	" t.departmentId_id, IFNULL(p.departmentName, ''), IFNULL(u.fullName, ''), IFNULL(u.labPatientId, '')," +
	" IFNULL(o.orgFullName, ''), IFNULL(d.docFullName, ''), c.said_at, c.parameters, c.persons, c.not_sent, c.statement_key," +
	" (SELECT MAX(k.created_on) FROM CriticalCallout k WHERE k.lab_id = c.lab_id AND k.lab_report_id = c.lab_report_id" +
	" AND k.created_on >= TIMESTAMPADD(MICROSECOND, c.said_at, '1970-01-01'))" +
	" FROM callout_statement c JOIN labReportRelation r ON r.id = c.lab_report_id AND r.labId_id = c.lab_id" +
	" LEFT JOIN AllTests t ON t.id = r.reportID_id" +
	" LEFT JOIN department p ON p.id = t.departmentId_id AND p.labId_id = r.labId_id" +
	" LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
	" LEFT JOIN userDetails u ON u.id = IF(c.patient_id = 0, r.userDetailsId_id, c.patient_id) AND u.labId_id = r.labId_id" +
	" LEFT JOIN organization o ON o.id = IFNULL(c.org_id, b.orgId_id) AND o.labId_id = r.labId_id" +
	" LEFT JOIN doctorDetails d ON d.id = IFNULL(c.doctor_id, b.docId_id) AND d.labId_id = r.labId_id" +
	" WHERE c.lab_id = ? AND c.kind IN ('correction', 'withdrawal') AND c.heard = 1 AND c.said_at >= ?"

func (s *Store) Corrected(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, after time.Time, most int,
) ([]worklist.Corrected, error) {
	condition, args := visible(v)
	if doctorID, ok := v.OwnBills(); ok { // a report may have left the bill of the doctor who was told its value
		condition, args = " AND c.doctor_id = ?", []any{doctorID}
	}
	args = append(append([]any{scope.LabID(), after.UnixMicro()}, args...), maxCorrectedRead)
	keys := []string{}
	var list []worklist.Corrected
	query := correctedReports + condition + " ORDER BY c.said_at DESC, r.id LIMIT ?"
	err := each(ctx, s.db, "read corrections", query, args, func(r *sql.Rows) error {
		var one worklist.Corrected
		var department sql.NullInt64
		var told int64
		var parameters, persons []byte
		var notSent bool
		var key string
		var called sql.NullTime
		err := r.Scan(&one.ReportID, &one.BillID, &one.LabBillID, &one.Test.ID, &one.Test.Name, &department,
			&one.Test.DepartmentName, &one.Patient, &one.PatientID, &one.Organization, &one.Referral, &told, &parameters,
			&persons, &notSent, &key, &called)
		if department.Valid {
			one.Test.DepartmentID = &department.Int64
		}
		one.ToldAt, one.Was, one.CalledAt = time.UnixMicro(told).UTC(), readParameters(parameters), called.Time
		one.Sent = !notSent
		if len(persons) > 0 {
			one.Persons = callout.Texts(persons)
		}
		list, keys = append(list, one), append(keys, key)
		return err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return s.current(ctx, scope, list, keys, most)
}

// maxCorrectedRead is the maximum number of corrections that a list reads.
const maxCorrectedRead = 1000

// current returns the corrections with a parameter about which no notice, call or attempt was recorded since, because a
// value that waits again is in the list of waiting reports. Simultaneous corrections of a report become one entry.
func (s *Store) current(
	ctx context.Context, scope authn.LabScope, list []worklist.Corrected, keys []string, most int,
) (shown []worklist.Corrected, err error) {
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].ReportID
	}
	ledgers, err := s.ledgers(ctx, s.db, scope, ids)
	if err != nil {
		return nil, err
	}
	for i, one := range list {
		if one.Was = ledgers[one.ReportID].StillCorrected(keys[i]); len(one.Was) == 0 {
			continue
		}
		if n := len(shown) - 1; n >= 0 && shown[n].ReportID == one.ReportID && shown[n].ToldAt.Equal(one.ToldAt) {
			join(&shown[n], &one)
			continue
		}
		if shown = append(shown, one); len(shown) == most {
			break
		}
	}
	return shown, nil
}

// join adds the values and persons of a simultaneous correction of the same report.
func join(to, from *worklist.Corrected) {
	for _, p := range from.Was {
		if !slices.ContainsFunc(to.Was, func(q callout.Parameter) bool { return q.Key() == p.Key() }) {
			to.Was = append(to.Was, p)
		}
	}
	to.Persons = distinct.Of(append(to.Persons, from.Persons...))
	to.Sent = to.Sent && from.Sent
}
