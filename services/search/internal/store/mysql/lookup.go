package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/labtime"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/search/internal/login"
	"github.com/labplatform/labplatform/services/search/internal/lookup"
)

var (
	_ lookup.Reader = (*Store)(nil)
	_ login.Reader  = (*Store)(nil)
)

// Rows of lookup.Named: kind, number, patient, bill, report, doctor.
const (
	patientNamed = "SELECT 'patient', labPatientId, id, 0, 0, 0 FROM userDetails WHERE labId_id = ? AND isDeleted = 0 AND "
	billNamed    = "SELECT 'bill', CAST(labBillId AS CHAR), userDetailsId_id, id, 0, IFNULL(docId_id, 0) FROM billing WHERE labId_id = ? AND "
	orderNamed   = "SELECT 'order', orderNumber, userDetailsId_id, id, 0, IFNULL(docId_id, 0) FROM billing WHERE labId_id = ? AND "

	ofReport = ", r.userDetailsId_id, r.billId_id, r.id, IFNULL(b.docId_id, 0) FROM labReportRelation r LEFT JOIN billing b ON b.id = r.billId_id" +
		" AND b.labId_id = r.labId_id WHERE r.labId_id = ? AND r.dismissed = 0 AND "
	reportNamed = "SELECT 'report', CAST(r.id AS CHAR)" + ofReport
	sampleNamed = "SELECT 'sample', r.sampleId" + ofReport
	manualNamed = "SELECT 'sample', r.manualSampleId" + ofReport
	formNamed   = "SELECT 'report', r.lrfId" + ofReport
)

// maxBillReports is how many reports of a bill are read.
const maxBillReports = 200

// Named finds the number in every column that has an index of it.
func (s *Store) Named(ctx context.Context, lab authn.LabScope, n lookup.Number) ([]lookup.Named, error) {
	marks, texts := mysqldb.In(n.Texts, lab.LabID())
	var parts []string
	var args []any
	add := func(query string, values []any) {
		parts, args = append(parts, "("+query+")"), append(args, values...)
	}
	add(patientNamed+"labPatientId IN ("+marks+") AND labPatientId <> ''", texts)
	add(orderNamed+"orderNumber IN ("+marks+") AND orderNumber <> ''", texts)
	add(sampleNamed+"r.sampleId IN ("+marks+") AND r.sampleId <> ''", texts)
	if n.Digits != 0 {
		add(billNamed+"labBillId = ?", []any{lab.LabID(), n.Digits})
		add(reportNamed+"r.id = ?", []any{lab.LabID(), n.Digits})
	}
	return s.named(ctx, parts, args)
}

// OfPatients finds the number in the columns without an index, among the reports of patients.
func (s *Store) OfPatients(
	ctx context.Context, lab authn.LabScope, userIDs []int64, n lookup.Number,
) ([]lookup.Named, error) {
	users, args := mysqldb.In(userIDs, lab.LabID())
	marks, args := mysqldb.In(n.Texts, args...)
	where := "r.userDetailsId_id IN (" + users + ") AND "
	return s.named(ctx, []string{
		"(" + manualNamed + where + "r.manualSampleId IN (" + marks + "))",
		"(" + formNamed + where + "r.lrfId IN (" + marks + "))",
	}, append(args, args...))
}

// ByID finds the bill or the report with an id.
func (s *Store) ByID(ctx context.Context, lab authn.LabScope, kind lookup.Kind, id int64) ([]lookup.Named, error) {
	query := billNamed + "id = ?"
	if kind == lookup.Report {
		query = reportNamed + "r.id = ?"
	}
	return s.named(ctx, []string{query}, []any{lab.LabID(), id})
}

func (s *Store) named(ctx context.Context, parts []string, args []any) ([]lookup.Named, error) {
	query := strings.Join(parts, " UNION ALL ") + " LIMIT ?"
	rows, err := mysqldb.Collect(ctx, s.db, query, append(args, lookup.MaxNamed+1),
		func(row mysqldb.Row, n *lookup.Named) error {
			return row.Scan(&n.Kind, &n.Number, &n.UserID, &n.BillID, &n.ReportID, &n.DoctorID)
		})
	return rows, mysqldb.Wrap("look up number", err)
}

// Bills reads bills and their reports, each report with its test.
func (s *Store) Bills(
	ctx context.Context, lab authn.LabScope, ids []int64,
) ([]lookup.BillRow, []lookup.ReportRow, error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	marks, args := mysqldb.In(ids, lab.LabID())
	bills, err := mysqldb.Collect(ctx, s.db, "SELECT b.id, b.labBillId, b.orderNumber, b.source, IFNULL(o.orgFullName, '') FROM billing b"+
		" LEFT JOIN organization o ON o.id = b.orgId_id AND o.labId_id = b.labId_id WHERE b.labId_id = ? AND b.id IN ("+marks+")", args,
		func(row mysqldb.Row, b *lookup.BillRow) error {
			return row.Scan(&b.ID, &b.LabBillID, &b.OrderNumber, &b.Source, &b.Organization)
		})
	if err != nil {
		return nil, nil, mysqldb.Wrap("read bills of number", err)
	}
	reports, err := mysqldb.Collect(ctx, s.db, "SELECT r.id, r.billId_id, r.reportID_id, IFNULL(t.testName, ''),"+
		" IF(r.sampleId = '', r.manualSampleId, r.sampleId), IFNULL(t.cell_counter_enabled, 0) FROM labReportRelation r"+
		" LEFT JOIN AllTests t ON t.id = r.reportID_id WHERE r.labId_id = ? AND r.billId_id IN ("+marks+") AND r.dismissed = 0"+
		" ORDER BY r.billId_id, r.id LIMIT ?", append(args, maxBillReports*len(ids)),
		func(row mysqldb.Row, r *lookup.ReportRow) error {
			return row.Scan(&r.ID, &r.BillID, &r.TestID, &r.TestName, &r.SampleID, &r.CellCounter)
		})
	return bills, reports, mysqldb.Wrap("read reports of number", err)
}

// Laboratory reads the laboratory of a login. One without a row, or with an unknown time zone, has the default zone.
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
