package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/labtime"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/search/internal/login"
	"github.com/labplatform/labplatform/services/search/internal/lookup"
)

var (
	_ lookup.Reader = (*Store)(nil)
	_ login.Reader  = (*Store)(nil)
)

// byNumber keeps the server from scanning a whole table by id, newest first, for rows with the number. That scan is
// slow if a login may see none of the rows with a common number.
const byNumber = " IGNORE INDEX FOR ORDER BY (PRIMARY)"

// Queries for the columns of lookup.Named: kind, number, patient, bill, report.
const (
	patientNamed = "SELECT 'patient', u.labPatientId, u.id, 0, 0 FROM userDetails u" + byNumber + " WHERE u.labId_id = ? AND u.isDeleted = 0 AND "
	billNamed    = "SELECT 'bill', CAST(b.labBillId AS CHAR), b.userDetailsId_id, b.id, 0 FROM billing b" + byNumber + " WHERE b.labId_id = ? AND "
	orderNamed   = "SELECT 'order', b.orderNumber, b.userDetailsId_id, b.id, 0 FROM billing b" + byNumber + " WHERE b.labId_id = ? AND "

	ofReport = ", r.userDetailsId_id, r.billId_id, r.id FROM labReportRelation r" + byNumber +
		" LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id WHERE r.labId_id = ? AND r.dismissed = 0 AND "
	reportNamed = "SELECT 'report', CAST(r.id AS CHAR)" + ofReport
	sampleNamed = "SELECT 'sample', r.sampleId" + ofReport
	manualNamed = "SELECT 'sample', r.manualSampleId" + ofReport
	formNamed   = "SELECT 'report', r.lrfId" + ofReport
)

// maxBillReports is the maximum number of reports read per bill.
const maxBillReports = 200

// ofReportOrBill returns the condition for reports of an affiliation. Reports have an organization; the other
// affiliations are only in their bill.
func ofReportOrBill(column string) string {
	if column == "orgId_id" {
		return "(b.orgId_id = ? OR r.orgId_id = ?)"
	}
	return sight.OfBill(column)
}

// ofPatient returns the condition for patients of an affiliation, by the registration or any bill. Doctors are only in
// bills.
func ofPatient(column string) string {
	billed := "EXISTS (SELECT 1 FROM billing b WHERE b.userDetailsId_id = u.id AND b.labId_id = u.labId_id AND " + sight.OfBill(column) + ")"
	if column == "docId_id" {
		return billed
	}
	return "(u." + column + " = ? OR " + billed + ")"
}

// union is a query of several parts. Each has its own limit, so that no part displaces rows of another.
type union struct {
	sees  lookup.Sight
	parts []string
	args  []any
}

func (q *union) patients(where string, values []any) {
	q.add(patientNamed+where, "u", ofPatient, values)
}

func (q *union) bills(query, where string, values []any) {
	q.add(query+where, "b", sight.OfBill, values)
}

func (q *union) reports(query, where string, values []any) {
	q.add(query+where, "r", ofReportOrBill, values)
}

func (q *union) add(query, table string, condition func(string) string, values []any) {
	where, ids := q.sees.Bills.Conditions(condition)
	q.parts = append(q.parts, "("+query+where+" ORDER BY "+table+".id DESC LIMIT ?)")
	q.args = append(q.args, q.sees.Lab.LabID())
	q.args = append(append(append(q.args, values...), ids...), lookup.MaxNamed+1)
}

func (s *Store) named(ctx context.Context, q *union) ([]lookup.Named, error) {
	rows, err := mysqldb.Collect(ctx, s.db, strings.Join(q.parts, " UNION ALL "), q.args,
		func(row mysqldb.Row, n *lookup.Named) error {
			return row.Scan(&n.Kind, &n.Number, &n.UserID, &n.BillID, &n.ReportID)
		})
	return rows, mysqldb.Wrap("look up number", err)
}

// Named searches for the number in all columns that have a database index.
func (s *Store) Named(ctx context.Context, sees lookup.Sight, n lookup.Number) ([]lookup.Named, error) {
	marks, texts := mysqldb.In(n.Texts)
	q := &union{sees: sees}
	q.patients("u.labPatientId IN ("+marks+") AND u.labPatientId <> ''", texts)
	q.bills(orderNamed, "b.orderNumber IN ("+marks+") AND b.orderNumber <> ''", texts)
	q.reports(sampleNamed, "r.sampleId IN ("+marks+") AND r.sampleId <> ''", texts)
	if n.Digits != 0 {
		q.bills(billNamed, "b.labBillId = ?", []any{n.Digits})
		q.reports(reportNamed, "r.id = ?", []any{n.Digits})
	}
	return s.named(ctx, q)
}

// OfPatients searches for the number in the columns without a database index, among the reports of the patients.
func (s *Store) OfPatients(
	ctx context.Context, sees lookup.Sight, userIDs []int64, n lookup.Number,
) ([]lookup.Named, error) {
	users, args := mysqldb.In(userIDs)
	marks, args := mysqldb.In(n.Texts, args...)
	of := "r.userDetailsId_id IN (" + users + ") AND "
	q := &union{sees: sees}
	q.reports(manualNamed, of+"r.manualSampleId IN ("+marks+")", args)
	q.reports(formNamed, of+"r.lrfId IN ("+marks+")", args)
	return s.named(ctx, q)
}

// ByID returns the bill or the report with the id.
func (s *Store) ByID(ctx context.Context, sees lookup.Sight, kind lookup.Kind, id int64) ([]lookup.Named, error) {
	q := &union{sees: sees}
	if kind == lookup.Report {
		q.reports(reportNamed, "r.id = ?", []any{id})
	} else {
		q.bills(billNamed, "b.id = ?", []any{id})
	}
	return s.named(ctx, q)
}

func (s *Store) Bills(ctx context.Context, sees lookup.Sight, ids []int64) ([]lookup.BillRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	marks, args := mysqldb.In(ids, sees.Lab.LabID())
	where, of := sees.Bills.Conditions(sight.OfBill)
	bills, err := mysqldb.Collect(ctx, s.db, "SELECT b.id, b.labBillId, b.orderNumber, b.source, IFNULL(o.orgFullName, '') FROM billing b"+
		" LEFT JOIN organization o ON o.id = b.orgId_id AND o.labId_id = b.labId_id WHERE b.labId_id = ? AND b.id IN ("+marks+")"+where,
		append(args, of...),
		func(row mysqldb.Row, b *lookup.BillRow) error {
			return row.Scan(&b.ID, &b.LabBillID, &b.OrderNumber, &b.Source, &b.Organization)
		})
	return bills, mysqldb.Wrap("read bills of number", err)
}

const reportRows = "(SELECT r.id, r.billId_id, r.userDetailsId_id, r.reportID_id, IFNULL(t.testName, '')," +
	" IF(r.sampleId = '', r.manualSampleId, r.sampleId), IFNULL(t.cell_counter_enabled, 0) FROM labReportRelation r" +
	" LEFT JOIN AllTests t ON t.id = r.reportID_id WHERE r.labId_id = ? AND r.dismissed = 0 AND "

// Reports returns the reports of bills, with a limit per bill, and the reports with the given ids.
func (s *Store) Reports(
	ctx context.Context, sees lookup.Sight, billIDs, ids []int64,
) ([]lookup.ReportRow, error) {
	var parts []string
	var args []any
	for _, id := range billIDs {
		parts = append(parts, reportRows+"r.billId_id = ? ORDER BY r.id LIMIT ?)")
		args = append(args, sees.Lab.LabID(), id, maxBillReports)
	}
	if len(ids) > 0 {
		marks, named := mysqldb.In(ids, sees.Lab.LabID())
		parts, args = append(parts, reportRows+"r.id IN ("+marks+"))"), append(args, named...)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	reports, err := mysqldb.Collect(ctx, s.db, strings.Join(parts, " UNION ")+" ORDER BY 1", args,
		func(row mysqldb.Row, r *lookup.ReportRow) error {
			return row.Scan(&r.ID, &r.BillID, &r.UserID, &r.TestID, &r.TestName, &r.SampleID, &r.CellCounter)
		})
	return reports, mysqldb.Wrap("read reports of number", err)
}

// Laboratory returns the laboratory of a login. The default time zone is used if the laboratory has no row or an
// unknown zone.
func (s *Store) Laboratory(ctx context.Context, lab authn.LabScope) (login.Laboratory, error) {
	l := login.Laboratory{ID: lab.LabID(), Timezone: labtime.DefaultZone}
	var zone string
	err := s.db.QueryRowContext(ctx, "SELECT labName, timezone FROM labs WHERE id = ?", lab.LabID()).Scan(&l.Name, &zone)
	if errors.Is(err, sql.ErrNoRows) {
		return l, nil
	}
	if known, ok := labtime.Zone(zone); ok {
		l.Timezone = known.String()
	}
	return l, mysqldb.Wrap("read laboratory", err)
}
