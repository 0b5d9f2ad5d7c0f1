package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// correctedReports lists corrections c with the last callout that was recorded since. Who waits again is on the list of
// those who wait.
const correctedReports = "SELECT r.id, r.billId_id, IFNULL(b.labBillId, 0), r.reportID_id, IFNULL(t.testName, '')," +
	" t.departmentId_id, IFNULL(p.departmentName, ''), IFNULL(u.fullName, ''), IFNULL(u.labPatientId, '')," +
	" IFNULL(o.orgFullName, ''), IFNULL(d.docFullName, ''), c.told_at, c.parameters," +
	" (SELECT MAX(k.created_on) FROM CriticalCallout k WHERE k.lab_id = c.lab_id AND k.lab_report_id = c.lab_report_id" +
	" AND k.created_on >= TIMESTAMPADD(MICROSECOND, c.told_at * 1000, '1970-01-01'))" +
	" FROM callout_correction c JOIN labReportRelation r ON r.id = c.lab_report_id AND r.labId_id = c.lab_id" +
	" LEFT JOIN AllTests t ON t.id = r.reportID_id" +
	" LEFT JOIN department p ON p.id = t.departmentId_id AND p.labId_id = r.labId_id" +
	" LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
	" LEFT JOIN userDetails u ON u.id = r.userDetailsId_id AND u.labId_id = r.labId_id" +
	" LEFT JOIN organization o ON o.id = b.orgId_id AND o.labId_id = r.labId_id" +
	" LEFT JOIN doctorDetails d ON d.id = b.docId_id AND d.labId_id = r.labId_id" +
	" WHERE c.lab_id = ? AND c.told_at >= ? AND r.dismissed = 0 AND r.criticalValues NOT IN (1, 4)"

func (s *Store) Corrected(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, after time.Time, most int,
) ([]worklist.Corrected, error) {
	condition, args := visible(v)
	args = append(append([]any{scope.LabID(), after.UnixMilli()}, args...), most)
	var list []worklist.Corrected
	query := correctedReports + condition + " ORDER BY c.told_at DESC, r.id LIMIT ?"
	err := each(ctx, s.db, "read corrections", query, args, func(r *sql.Rows) error {
		var one worklist.Corrected
		var department sql.NullInt64
		var told int64
		var parameters []byte
		var called sql.NullTime
		err := r.Scan(&one.ReportID, &one.BillID, &one.LabBillID, &one.Test.ID, &one.Test.Name, &department,
			&one.Test.DepartmentName, &one.Patient, &one.PatientID, &one.Organization, &one.Referral, &told, &parameters,
			&called)
		if department.Valid {
			one.Test.DepartmentID = &department.Int64
		}
		one.ToldAt, one.Was, one.CalledAt = at(told), readParameters(parameters), called.Time
		list = append(list, one)
		return err
	})
	return list, err
}
