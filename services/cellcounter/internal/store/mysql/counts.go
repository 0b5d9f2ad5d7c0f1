package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Counts returns a report and its counts, ordered by observer.
func (s *Store) Counts(
	ctx context.Context, a observe.Access, reportID, testID int64,
) (observe.Report, []observe.Count, error) {
	report, err := readReport(ctx, s.db, a, reportID, "")
	if err != nil {
		return report, nil, err
	}
	counts, err := readCounts(ctx, s.db, a, report.ID, testID)
	return report, counts, err
}

// ChangeCounts locks the report's row from loading the facts to the commit.
func (s *Store) ChangeCounts(
	ctx context.Context, a observe.Access, reportID, testID int64, decide func(observe.Facts) (observe.Decision, error),
) (observe.Decision, error) {
	c := counted{a, reportID, testID}
	load := func(tx *sql.Tx) (observe.Facts, error) { return c.load(ctx, tx) }
	apply := func(tx *sql.Tx, d observe.Decision) error { return c.apply(ctx, tx, d) }
	d, err := mysqldb.Change(ctx, s.db, load, decide, apply)
	return d, mysqldb.Wrap("save count", err)
}

// counted is a locked report whose counts may change.
type counted struct {
	access           observe.Access
	reportID, testID int64
}

func (c counted) load(ctx context.Context, tx *sql.Tx) (f observe.Facts, err error) {
	if f.Report, err = readReport(ctx, tx, c.access, c.reportID, " FOR UPDATE"); err != nil {
		return f, err
	}
	if f.Counts, err = readCounts(ctx, tx, c.access, c.reportID, c.testID); err != nil {
		return f, err
	}
	cells, err := readCells(ctx, tx)
	f.Cells = mapping.ByID(cells)
	return f, err
}

func (c counted) apply(ctx context.Context, tx *sql.Tx, d observe.Decision) error {
	if d.Put != nil {
		if err := c.put(ctx, tx, *d.Put); err != nil {
			return err
		}
	}
	if d.Log == nil {
		return nil
	}
	_, err := activitylog.Append(ctx, tx, c.access.Lab, *d.Log)
	return mysqldb.Wrap("log", err)
}

func (c counted) put(ctx context.Context, tx *sql.Tx, count observe.Count) error {
	document, err := json.Marshal(observe.DocumentsOf(count.Tallies))
	if err != nil {
		return mysqldb.Wrap("encode count", err)
	}
	by := count.CountedBy
	_, err = tx.ExecContext(ctx, "INSERT INTO cell_count (lab_id, lab_report_id, test_id, observer, counts, counted_by,"+
		" counted_by_kind, counted_by_name, counted_at, version, sample_id) VALUES (?,?,?,?,?,?,?,?,?,?,"+
		" (SELECT COALESCE(NULLIF("+sampleOfReport+", ''), NULLIF(?, '')) FROM labReportRelation r WHERE r.id = ? AND r.labId_id = ?))"+
		" ON DUPLICATE KEY UPDATE sample_id = VALUES(sample_id), version = VALUES(version), counts = VALUES(counts), counted_by = VALUES(counted_by), counted_by_kind = VALUES(counted_by_kind),"+
		" counted_by_name = VALUES(counted_by_name), counted_at = VALUES(counted_at)",
		c.access.Lab.LabID(), c.reportID, c.testID, count.Observer, string(document), by.ID, string(by.Kind), by.Name,
		count.CountedAt, count.Version, count.SampleID, c.reportID, c.access.Lab.LabID())
	return mysqldb.Wrap("store count", err)
}

// querier is a connection pool or a transaction.
type querier interface {
	mysqldb.Querier
	mysqldb.RowsQuerier
}

// The bill is read in a nested query, so that FOR UPDATE does not lock it.
const reportStatement = "SELECT r.id, r.billId_id, r.reportID_id, " + sampleOfReport + ", r.isSigned, r.dismissed FROM labReportRelation r" +
	" WHERE r.id = ? AND r.labId_id = ? AND (NOT ? OR ? = (SELECT b.docId_id FROM billing b WHERE b.id = r.billId_id" +
	" AND b.labId_id = r.labId_id))"

func readReport(
	ctx context.Context, q querier, a observe.Access, reportID int64, suffix string,
) (observe.Report, error) {
	var r observe.Report
	err := q.QueryRowContext(ctx, reportStatement+suffix, reportID, a.Lab.LabID(), a.OwnBills, a.DoctorID).
		Scan(&r.ID, &r.BillID, &r.TestID, &r.SampleID, &r.Signed, &r.Dismissed)
	if errors.Is(err, sql.ErrNoRows) {
		return r, observe.ErrNoReport
	}
	return r, mysqldb.Wrap("read report", err)
}

// sampleOfReport is the sample of a report r, empty if it has no number yet. presentSample reports whether a count c is
// of that sample; counts of earlier versions have none.
const (
	sampleOfReport = "IF(r.sampleId = '', r.manualSampleId, r.sampleId)"
	presentSample  = "c.sample_id IS NULL OR " + sampleOfReport + " IN (c.sample_id, '')"
)

func readCounts(ctx context.Context, q querier, a observe.Access, reportID, testID int64) ([]observe.Count, error) {
	const query = "SELECT c.observer, c.counts, c.counted_by, c.counted_by_kind, c.counted_by_name, c.counted_at, c.version," +
		" NOT (" + presentSample + ") FROM cell_count c JOIN labReportRelation r ON r.id = c.lab_report_id AND r.labId_id = c.lab_id" +
		" WHERE c.lab_id = ? AND c.lab_report_id = ? AND c.test_id = ? ORDER BY c.observer"
	list, err := mysqldb.Collect(ctx, q, query, []any{a.Lab.LabID(), reportID, testID}, scanCount)
	return list, mysqldb.Wrap("read counts", err)
}

func scanCount(row mysqldb.Row, c *observe.Count) error {
	var text []byte
	by := &c.CountedBy
	if err := row.Scan(&c.Observer, &text, &by.ID, &by.Kind, &by.Name, &c.CountedAt, &c.Version,
		&c.OtherSample); err != nil {
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
