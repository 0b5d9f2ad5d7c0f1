package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
)

// lockReports locks the reports of both bills, so that no result changes between the decision and the commit. It waits
// for transactions that are changing one.
func (t *transaction) lockReports(ctx context.Context, r *family.Record) error {
	err := mysqldb.Each(ctx, t.tx, "SELECT id FROM labReportRelation WHERE labId_id = ? AND billId_id IN (?, ?)"+
		" ORDER BY id FOR UPDATE", []any{t.lab.LabID(), r.ParentID, r.NewID}, func(*sql.Rows) error { return nil })
	return mysqldb.Wrap("lock reports", err)
}

// clockSkew is how far the clock of a split may be ahead of the database's, which dates results.
const clockSkew = time.Minute

// resultsChanged reports whether a result of either bill was written or removed, or a report dismissed or given to
// another patient, since the split. Records of earlier versions show only the time of writing,
// which is wrong if the database's clock or zone is behind.
func (t *transaction) resultsChanged(ctx context.Context, r *family.Record) (bool, error) {
	written, err := t.resultsWritten(ctx, r)
	if err != nil || written || r.Results == "" {
		return written, err
	}
	now, err := t.results(ctx, r.ParentID, r.NewID)
	return now != r.Results, err
}

// results returns a digest of the bills' results: which rows there are, their values, of which patient,
// and whether their report is dismissed.
func (t *transaction) results(ctx context.Context, billIDs ...int64) (string, error) {
	marks, args := mysqldb.In(billIDs, t.lab.LabID())
	digest := sha256.New()
	err := mysqldb.Each(ctx, t.tx, "SELECT v.id, r.userDetailsId_id, r.dismissed, v.value FROM labReportRelation r JOIN reportValues v"+
		" ON v.labReportId_id = r.id WHERE r.labId_id = ? AND r.billId_id IN ("+marks+") ORDER BY v.id", args,
		func(rows *sql.Rows) error {
			var id, patient int64
			var dismissed bool
			var value []byte
			err := rows.Scan(&id, &patient, &dismissed, &value)
			digest.Write(fmt.Appendf(nil, "%d %d %t %q\n", id, patient, dismissed, value))
			return err
		})
	return hex.EncodeToString(digest.Sum(nil)), mysqldb.Wrap("read results", err)
}

func (t *transaction) resultsWritten(ctx context.Context, r *family.Record) (written bool, err error) {
	since := time.UnixMilli(r.At).Add(-clockSkew).UTC()
	err = t.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM labReportRelation r LEFT JOIN reportValues v"+
		" ON v.labReportId_id = r.id AND v.updated_at >= ? WHERE r.labId_id = ? AND r.billId_id IN (?, ?)"+
		" AND (v.id IS NOT NULL OR r.dismissed <> 0 AND r.updatedOn >= ?))",
		since, t.lab.LabID(), r.ParentID, r.NewID, since).Scan(&written)
	return written, mysqldb.Wrap("read results", err)
}
