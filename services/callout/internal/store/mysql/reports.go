package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

const reportColumns = "SELECT r.id, r.billId_id, r.userDetailsId_id, r.orgId_id, r.docForId_id, r.reportFormatId_id," +
	" r.comments, r.criticalValues, r.onHold, r.isSigned, r.isSynced, r.isProfile, r.isApproved, r.isResolved, r.inQuestion," +
	" r.notPerformed, r.claim_on_hold, r.auto_approval_status, r.sampleCollected, r.sampleRedrawFlag IN (3, 4)," +
	" r.reportID_id, t.testName, t.departmentId_id, d.departmentName, t.isProfile," +
	" r.billingInfoId_id, r.sampleCollectionTime, l.timezone, u.gender, " + reportformat.BirthDate + ", u.age, r.dismissed, IFNULL(u.fullName, ''), IFNULL(u.labPatientId, ''), IFNULL(b.labBillId, 0)," +
	" IFNULL(b.orgId_id, 0), IFNULL(b.docId_id, 0), IFNULL(b.userDetailsId_id, 0), u.updatedOn, b.updatedOn, n.as_of, n.received_at, n.readings, r.updatedOn" +
	" FROM labReportRelation r LEFT JOIN AllTests t ON t.id = r.reportID_id" +
	" LEFT JOIN department d ON d.id = t.departmentId_id AND d.labId_id = r.labId_id" +
	" LEFT JOIN labs l ON l.id = r.labId_id LEFT JOIN userDetails u ON u.id = r.userDetailsId_id" +
	" LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
	" LEFT JOIN callout_unconfirmed n ON n.lab_report_id = r.id WHERE r.labId_id = ?"

// open is the condition of reports that have to be called.
const open = "r.criticalValues IN (1, 4) AND r.dismissed = 0"

// reading selects the additional data that readReports loads.
type reading struct {
	// criticalOnly restricts the formats to those with critical limits, which suffices for lists of critical values.
	criticalOnly bool
	inputs       map[int64]inputs         // filled unless nil
	unconfirmed  map[int64]unconfirmedRow // filled if inputs is not nil
}

// reports reads reports that are not dismissed, for use in lists.
func (s *Store) reports(
	ctx context.Context, q querier, scope authn.LabScope, condition string, args ...any,
) ([]callout.Report, callout.Formats, error) {
	return s.readReports(ctx, q, scope, reading{criticalOnly: true}, " AND r.dismissed = 0"+condition, args...)
}

// readReports reads the reports of a laboratory that match condition, with their charts and formats. It executes at
// most four statements for any number of reports.
func (s *Store) readReports(
	ctx context.Context, q querier, scope authn.LabScope, how reading, condition string, args ...any,
) ([]callout.Report, callout.Formats, error) {
	var list []callout.Report
	var rows []reportRow
	err := each(
		ctx,
		q,
		"read reports",
		reportColumns+condition,
		append([]any{scope.LabID()}, args...),
		func(r *sql.Rows) error {
			var row reportRow
			if err := r.Scan(row.targets()...); err != nil {
				return err
			}
			list, rows = append(list, row.read(s)), append(rows, row)
			return nil
		},
	)
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	formats, err := s.fill(ctx, q, scope, list, rows, how.criticalOnly)
	if err != nil || how.inputs == nil {
		return list, formats, err
	}
	for i := range list {
		if err := rows[i].readUnconfirmed(how.unconfirmed); err != nil {
			return nil, nil, err
		}
		in := inputs{patient: rows[i].patientUpdated, bill: rows[i].billUpdated}
		for _, v := range list[i].Chart.Readings {
			in.values += v.At.UnixMicro()
		}
		how.inputs[list[i].ID] = in
	}
	return list, formats, err
}

type reportRow struct {
	callout.Report
	comments, name, department, zone, gender, age sql.NullString
	departmentID, billingInfoID, isProfile        sql.NullInt64
	collected, born, patientUpdated, billUpdated  sql.NullTime
	touched                                       sql.NullTime
	asOf, received                                sql.NullInt64
	unconfirmed                                   []byte
}

func (r *reportRow) targets() []any {
	f := &r.Flags
	return []any{
		&r.ID,
		&r.BillID,
		&r.PatientID,
		&r.OrgID,
		&r.DoctorID,
		&r.FormatID,
		&r.comments,
		&r.Status,
		&f.OnHold,
		&f.IsSigned,
		&f.IsSynced,
		&f.IsProfile,
		&f.IsApproved,
		&f.IsResolved,
		&f.InQuestion,
		&f.NotPerformed,
		&f.ClaimOnHold,
		&f.AutoApprovalStatus,
		&r.SampleTaken,
		&r.RerunRequested,
		&r.Test.ID,
		&r.name,
		&r.departmentID,
		&r.department,
		&r.isProfile,
		&r.billingInfoID,
		&r.collected,
		&r.zone,
		&r.gender,
		&r.born,
		&r.age,
		&r.Dismissed,
		&r.PatientName,
		&r.LabPatientID,
		&r.LabBillID,
		&r.Bill.OrgID,
		&r.Bill.DoctorID,
		&r.Bill.PatientID,
		&r.patientUpdated,
		&r.billUpdated,
		&r.asOf,
		&r.received,
		&r.unconfirmed,
		&r.touched,
	}
}

func (r *reportRow) read(s *Store) callout.Report {
	report := r.Report
	if r.comments.Valid {
		report.Comments = &r.comments.String
	}
	report.Test.Name, report.Test.DepartmentName = r.name.String, r.department.String
	report.Test.IsProfile = int(r.isProfile.Int64)
	if r.departmentID.Valid {
		report.Test.DepartmentID = &r.departmentID.Int64
	}
	report.Bill.ID, report.CollectedAt, report.TouchedAt = r.BillID, r.collected.Time, r.touched.Time
	p := &report.Chart.Patient
	p.Gender, p.RecordedAge, p.BirthDate = r.gender.String, r.age.String, r.born.Time
	p.SampledOn = reportformat.CollectionDay(r.collected, s.clock.Now(), r.zone.String)
	report.Chart.Tests = []int64{report.Test.ID}
	return report
}

// readUnconfirmed adds the report's unconfirmed rerun values, if there are any.
func (r *reportRow) readUnconfirmed(into map[int64]unconfirmedRow) error {
	if len(r.unconfirmed) == 0 {
		return nil
	}
	row := unconfirmedRow{report: r.ID, asOf: r.asOf.Int64, received: time.UnixMicro(r.received.Int64).UTC()}
	err := row.parse(r.unconfirmed)
	into[r.ID] = row
	return err
}

// rerun returns the unconfirmed rerun values, or nil if they cannot be parsed.
func (r *reportRow) rerun() []callout.Reading {
	var row unconfirmedRow
	if len(r.unconfirmed) == 0 || row.parse(r.unconfirmed) != nil {
		return nil
	}
	return row.readings
}

// visible returns the condition of the reports that a session may see. All lab users may see tests without a
// department.
func visible(v callout.Visibility) (condition string, args []any) {
	switch v.Rule {
	case callout.Everything:
		return "", nil
	case callout.SessionDepartments:
		in, args := list(v.Departments)
		return " AND (t.departmentId_id IS NULL OR t.departmentId_id IN (" + in + "))", args
	case callout.DoctorDepartments:
		return " AND t.departmentId_id IN (SELECT departmentId_id FROM DoctorDepartmentRelation WHERE docId_id = ?)", []any{
			v.PersonID,
		}
	case callout.UserDepartments:
		return " AND (t.departmentId_id IS NULL OR t.departmentId_id IN" +
			" (SELECT departmentId_id FROM LabUserDepartmentRelation WHERE labUserId_id = ?))", []any{v.PersonID}
	case callout.DoctorBills:
		return ofDoctor, []any{v.PersonID}
	default:
		return " AND 1 = 0", nil
	}
}
