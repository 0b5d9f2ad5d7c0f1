package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// tally is one cell in the column counts.
type tally struct {
	CellID  int64 `json:"cell_id"`
	Count   int   `json:"count"`
	InTotal bool  `json:"include_in_total"`
}

// SaveCount implements observe.Store.
func (s *Store) SaveCount(ctx context.Context, a observe.Access, key observe.Key, c observe.Count) error {
	tallies := make([]tally, len(c.Tallies))
	for i, t := range c.Tallies {
		tallies[i] = tally(t)
	}
	document, err := json.Marshal(tallies)
	if err != nil {
		return mysqldb.Wrap("encode count", err)
	}
	return mysqldb.Wrap("save count", mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		if err := ownReport(ctx, tx, a, key.ReportID); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO cell_count (lab_id, lab_report_id, test_id, observer, counts, counted_by,"+
			" counted_by_kind, counted_by_name, counted_at) VALUES (?,?,?,?,?,?,?,?,?) ON DUPLICATE KEY UPDATE counts = VALUES(counts),"+
			" counted_by = VALUES(counted_by), counted_by_kind = VALUES(counted_by_kind), counted_by_name = VALUES(counted_by_name), counted_at = VALUES(counted_at)",
			a.Lab.LabID(), key.ReportID, key.TestID, key.Observer, string(document), c.CountedBy.ID, string(c.CountedBy.Kind),
			c.CountedBy.Name, c.CountedAt)
		return err
	}))
}

// querier is a pool or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func ownReport(ctx context.Context, q querier, a observe.Access, reportID int64) error {
	var id int64
	err := q.QueryRowContext(ctx, "SELECT r.id FROM labReportRelation r WHERE r.id = ? AND r.labId_id = ? AND (NOT ? OR EXISTS"+
		" (SELECT 1 FROM billing b WHERE b.id = r.billId_id AND b.labId_id = r.labId_id AND b.docId_id = ?))",
		reportID, a.Lab.LabID(), a.OwnBills, a.DoctorID).
		Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return observe.ErrNoReport
	}
	return mysqldb.Wrap("read report", err)
}

// Counts implements observe.Store.
func (s *Store) Counts(ctx context.Context, a observe.Access, reportID, testID int64) ([]observe.Count, error) {
	if err := ownReport(ctx, s.db, a, reportID); err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(
		ctx,
		"SELECT observer, counts, counted_by, counted_by_kind, counted_by_name, counted_at FROM cell_count"+
			" WHERE lab_id = ? AND lab_report_id = ? AND test_id = ? ORDER BY observer",
		a.Lab.LabID(),
		reportID,
		testID,
	)
	if err != nil {
		return nil, mysqldb.Wrap("read counts", err)
	}
	defer rows.Close()
	var list []observe.Count
	for rows.Next() {
		var c observe.Count
		var document []byte
		if err := rows.Scan(
			&c.Observer,
			&document,
			&c.CountedBy.ID,
			&c.CountedBy.Kind,
			&c.CountedBy.Name,
			&c.CountedAt,
		); err != nil {
			return nil, mysqldb.Wrap("read counts", err)
		}
		var tallies []tally
		if err := json.Unmarshal(document, &tallies); err != nil {
			return nil, mysqldb.Wrap("decode count", err)
		}
		for _, t := range tallies {
			c.Tallies = append(c.Tallies, counting.Tally(t))
		}
		list = append(list, c)
	}
	return list, mysqldb.Wrap("read counts", rows.Err())
}
