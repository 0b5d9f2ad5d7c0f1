package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// A patient with more rows than a list can hold is usually the account of a walk-in counter, with hundreds of thousands
// of rows. Reading all of them for every bill would delay all patients in the same partition.

// busy returns the patients in userIDs that have more than the given number of rows in table.
func busy(ctx context.Context, q querier, table string, userIDs []any) ([]any, error) {
	var ids []any
	query := "SELECT userDetailsId_id FROM " + table + " WHERE userDetailsId_id IN (" + placeholders(len(userIDs)) + ")" +
		" GROUP BY userDetailsId_id HAVING COUNT(*) > ?"
	err := each(ctx, q, "count "+table, query, append(userIDs[:len(userIDs):len(userIDs)], projection.MaxEntries),
		func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, err
}

// Columns read from the other rows of a busy patient, in groups: who may see the patient, and the time of the last
// bill.
const (
	billScopes   = "orgId_id, branchId, ccId_id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MAX(billTime))"
	reportScopes = "orgId_id, NULL, NULL, 0"
)

// newest reads the newest rows of a busy patient in the current laboratory, and the scopes of all rows there. It reads
// nothing if the patient has no laboratory.
func (s *sourceRows) newest(ctx context.Context, q querier, t sourceTable, id any) error {
	userID, _ := id.(int64)
	patient := s.of(userID).Patient
	if patient == nil || patient.IsDeleted {
		return nil
	}
	where := " FROM " + t.name + " WHERE userDetailsId_id = ? AND labId_id = ?"
	err := each(ctx, q, "read newest of "+t.name, "SELECT "+t.columns+where+" ORDER BY id DESC LIMIT ?",
		[]any{id, patient.LabID, projection.MaxEntries}, t.take)
	if err != nil {
		return err
	}
	groups := " GROUP BY orgId_id"
	if t.scopes == billScopes {
		groups += ", branchId, ccId_id"
	}
	return each(ctx, q, "read scopes of "+t.name, "SELECT "+t.scopes+where+groups, []any{id, patient.LabID}, t.scope(userID))
}

// scope is one group of bills or reports that the same logins see, with the time of its last bill. It is appended as a
// bill or report without a number, so it adds no entry to the lists of numbers.
type scope struct {
	org, branch, centre *int64
	last                sql.NullInt64
}

func readScope(rows *sql.Rows) (c scope, err error) {
	err = rows.Scan(&c.org, &c.branch, &c.centre, &c.last)
	return c, err
}

func (s *sourceRows) billScope(userID int64) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		c, err := readScope(rows)
		sources := s.of(userID)
		sources.Bills = append(sources.Bills, projection.Bill{
			LabID: sources.Patient.LabID, OrgID: c.org, BranchID: c.branch, CCID: c.centre, Time: floorMillis(c.last.Int64),
		})
		return err
	}
}

func (s *sourceRows) reportScope(userID int64) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		c, err := readScope(rows)
		sources := s.of(userID)
		sources.Reports = append(sources.Reports, projection.Report{LabID: sources.Patient.LabID, OrgID: c.org})
		return err
	}
}
