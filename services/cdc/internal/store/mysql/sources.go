package mysql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// querier is a transaction or a pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// The server converts times to microseconds since the epoch, because the driver would fail the whole statement for an
// invalid date of an old row. The server reads 2024-02-30 as the day after February 29, and 0000-00-00 as NULL.
const (
	patientColumns = "id, labId_id, branchId, orgId_id, ccId_id, labPatientId, designation, firstName, middleName, lastName, fullName, contact," +
		" alternateContact, email, gender, CAST(dateOfBirth AS CHAR), age, passportNo, nationalIdentityNumber, isDeleted <> 0," +
		" TIMESTAMPDIFF(MICROSECOND, '1970-01-01', updatedOn)"
	billColumns = "id, userDetailsId_id, labId_id, labBillId, orderNumber, orgId_id, branchId, ccId_id," +
		" TIMESTAMPDIFF(MICROSECOND, '1970-01-01', billTime), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', updatedOn)"
	reportColumns = "id, userDetailsId_id, labId_id, orgId_id, sampleId, manualSampleId, lrfId, sampleRedrawFlag IN (3, 4)," +
		" TIMESTAMPDIFF(MICROSECOND, '1970-01-01', updatedOn)"
)

type sourceRows struct {
	byUser  map[int64]*projection.Sources
	updated map[rowKey]int64 // time of the last change of each row, in microseconds since the epoch
}

// rowKey identifies a row of a source table.
type rowKey struct {
	table string
	id    int64
}

// readSources reads the source rows of patients in a fixed number of statements, plus a few per busy patient, for whom
// only the newest rows are read (see busy.go).
func readSources(ctx context.Context, q querier, userIDs []any) (*sourceRows, error) {
	s := &sourceRows{byUser: make(map[int64]*projection.Sources, len(userIDs)), updated: map[rowKey]int64{}}
	patients := "SELECT " + patientColumns + " FROM userDetails WHERE id IN (" + placeholders(len(userIDs)) + ")"
	if err := each(ctx, q, "read userDetails", patients, userIDs, s.patient); err != nil {
		return nil, err
	}
	for _, table := range []sourceTable{
		{change.Billing, billColumns, billScopes, s.bill, s.billScope},
		{change.LabReportRelation, reportColumns, reportScopes, s.report, s.reportScope},
	} {
		if err := s.read(ctx, q, table, userIDs); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// sourceTable is a table with many rows per patient.
type sourceTable struct {
	name    string
	columns string
	scopes  string // columns of the grouped query for busy patients
	take    func(*sql.Rows) error
	scope   func(userID int64) func(*sql.Rows) error
}

func (s *sourceRows) read(ctx context.Context, q querier, t sourceTable, userIDs []any) error {
	crowded, err := busy(ctx, q, t.name, userIDs)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(userIDs), func(id any) bool { return slices.Contains(crowded, id) })
	if len(others) > 0 {
		query := "SELECT " + t.columns + " FROM " + t.name + " WHERE userDetailsId_id IN (" + placeholders(len(others)) + ")"
		if err := each(ctx, q, "read "+t.name, query, others, t.take); err != nil {
			return err
		}
	}
	for _, id := range crowded {
		if err := s.newest(ctx, q, t, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *sourceRows) of(userID int64) *projection.Sources {
	sources, ok := s.byUser[userID]
	if !ok {
		sources = &projection.Sources{}
		s.byUser[userID] = sources
	}
	return sources
}

func (s *sourceRows) patient(rows *sql.Rows) error {
	var p projection.Patient
	var id int64
	var updated sql.NullInt64
	err := rows.Scan(&id, &p.LabID, &p.BranchID, &p.OrgID, &p.CCID, &p.LabPatientID, &p.Designation, &p.FirstName,
		&p.MiddleName, &p.LastName, &p.FullName, &p.Contact, &p.AlternateContact, &p.Email, &p.Gender,
		dateScanner{&p.DateOfBirth}, &p.Age, &p.PassportNo, &p.NationalIdentityNumber, &p.IsDeleted, &updated)
	s.of(id).Patient = &p
	s.updated[rowKey{change.UserDetails, id}] = updated.Int64
	return err
}

func (s *sourceRows) bill(rows *sql.Rows) error {
	var b projection.Bill
	var userID int64
	var at, updated sql.NullInt64
	err := rows.Scan(&b.ID, &userID, &b.LabID, &b.LabBillID, &b.OrderNumber, &b.OrgID, &b.BranchID, &b.CCID, &at, &updated)
	b.Time = floorMillis(at.Int64)
	sources := s.of(userID)
	sources.Bills = append(sources.Bills, b)
	s.updated[rowKey{change.Billing, b.ID}] = updated.Int64
	return err
}

func (s *sourceRows) report(rows *sql.Rows) error {
	var r projection.Report
	var userID int64
	var updated sql.NullInt64
	err := rows.Scan(&r.ID, &userID, &r.LabID, &r.OrgID, &r.SampleID, &r.ManualSampleID, &r.LrfID, &r.RerunOpen, &updated)
	sources := s.of(userID)
	sources.Reports = append(sources.Reports, r)
	s.updated[rowKey{change.LabReportRelation, r.ID}] = updated.Int64
	return err
}

// each runs a query and calls take for every row.
func each(ctx context.Context, q querier, operation, query string, args []any, take func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return wrap(operation, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows); err != nil {
			return &materialize.Poison{Reason: "unreadable", Err: unreadable(operation)} // err contains the value
		}
	}
	return wrap(operation, rows.Err())
}

func unreadable(operation string) error {
	return errors.New(
		operation + ": a column holds what its type should not allow; compare the table with the schema that this service expects")
}

func placeholders(n int) string { return "?" + strings.Repeat(",?", n-1) }

// floorMillis converts microseconds to milliseconds and rounds down, even before 1970.
func floorMillis(micros int64) int64 {
	const perMilli = 1000
	millis := micros / perMilli
	if micros%perMilli < 0 {
		millis--
	}
	return millis
}

func anys(ids []int64) []any {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return list
}
