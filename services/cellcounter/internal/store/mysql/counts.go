package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Observe is the store as observe.Store.
type Observe struct{ *Store }

var _ observe.Store = (*Observe)(nil)

// Lock implements observe.Store with the lock of the report's row.
func (s Observe) Lock(
	ctx context.Context, a observe.Access, reportID int64, work func(observe.Locked) error,
) error {
	return mysqldb.Wrap("save count", mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		report, err := readReport(ctx, tx, a, reportID, " FOR UPDATE")
		if err != nil {
			return err
		}
		return work(&counted{tx, a, report})
	}))
}

func (s Observe) Counts(ctx context.Context, a observe.Access, reportID, testID int64) ([]observe.Count, error) {
	report, err := readReport(ctx, s.db, a, reportID, "")
	if err != nil {
		return nil, err
	}
	return readCounts(ctx, s.db, a, report.ID, testID)
}

// querier is a pool or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A lock on what this reads does not extend to the bill: that is in a nested query.
const reportStatement = "SELECT r.id, r.billId_id, r.reportID_id, r.isSigned, r.dismissed FROM labReportRelation r" +
	" WHERE r.id = ? AND r.labId_id = ? AND (NOT ? OR ? = (SELECT b.docId_id FROM billing b WHERE b.id = r.billId_id" +
	" AND b.labId_id = r.labId_id))"

func readReport(
	ctx context.Context, q querier, a observe.Access, reportID int64, suffix string,
) (observe.Report, error) {
	var r observe.Report
	err := q.QueryRowContext(ctx, reportStatement+suffix, reportID, a.Lab.LabID(), a.OwnBills, a.DoctorID).
		Scan(&r.ID, &r.BillID, &r.TestID, &r.Signed, &r.Dismissed)
	if errors.Is(err, sql.ErrNoRows) {
		return r, observe.ErrNoReport
	}
	return r, mysqldb.Wrap("read report", err)
}

func readCounts(ctx context.Context, q querier, a observe.Access, reportID, testID int64) ([]observe.Count, error) {
	const query = "SELECT observer, counts, counted_by, counted_by_kind, counted_by_name, counted_at" +
		" FROM cell_count WHERE lab_id = ? AND lab_report_id = ? AND test_id = ? ORDER BY observer"
	list, err := mysqldb.Collect(ctx, q, query, []any{a.Lab.LabID(), reportID, testID}, scanCount)
	return list, mysqldb.Wrap("read counts", err)
}

func scanCount(row mysqldb.Row, c *observe.Count) error {
	var text []byte
	by := &c.CountedBy
	if err := row.Scan(&c.Observer, &text, &by.ID, &by.Kind, &by.Name, &c.CountedAt); err != nil {
		return err
	}
	var documents []observe.Document
	if err := json.Unmarshal(text, &documents); err != nil {
		return err
	}
	for _, d := range documents {
		c.Tallies = append(c.Tallies, counting.Tally{CellID: d.CellID, Count: d.Count, InTotal: d.InTotal})
	}
	return nil
}

// counted is the transaction that holds the locked counts.
type counted struct {
	tx     *sql.Tx
	access observe.Access
	report observe.Report
}

var _ observe.Locked = (*counted)(nil)

func (l *counted) Report() observe.Report { return l.report }

func (l *counted) Counts(ctx context.Context, testID int64) ([]observe.Count, error) {
	return readCounts(ctx, l.tx, l.access, l.report.ID, testID)
}

func (l *counted) KnownCells(ctx context.Context, ids []int64) (map[int64]bool, error) {
	cells, err := cellsByID(ctx, l.tx, ids)
	known := make(map[int64]bool, len(cells))
	for _, c := range cells {
		known[c.ID] = true
	}
	return known, err
}

func (l *counted) Put(ctx context.Context, testID int64, c observe.Count) error {
	document, err := json.Marshal(observe.DocumentsOf(c.Tallies))
	if err != nil {
		return mysqldb.Wrap("encode count", err)
	}
	_, err = l.tx.ExecContext(ctx, "INSERT INTO cell_count (lab_id, lab_report_id, test_id, observer, counts, counted_by,"+
		" counted_by_kind, counted_by_name, counted_at) VALUES (?,?,?,?,?,?,?,?,?) ON DUPLICATE KEY UPDATE"+
		" counts = VALUES(counts), counted_by = VALUES(counted_by), counted_by_kind = VALUES(counted_by_kind),"+
		" counted_by_name = VALUES(counted_by_name), counted_at = VALUES(counted_at)",
		l.access.Lab.LabID(), l.report.ID, testID, c.Observer, string(document), c.CountedBy.ID,
		string(c.CountedBy.Kind), c.CountedBy.Name, c.CountedAt)
	return mysqldb.Wrap("store count", err)
}

// logContext is the log_context of all entries of this service.
const logContext = "CELL_COUNTER"

func (l *counted) Log(ctx context.Context, e activitylog.Entry) error {
	e.Context, e.ReportID, e.BillID = logContext, l.report.ID, l.report.BillID
	_, err := activitylog.Append(ctx, l.tx, l.access.Lab, e)
	return mysqldb.Wrap("log", err)
}
