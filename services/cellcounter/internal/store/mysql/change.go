package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// ChangeMappings locks the scope's row of settings from loading the facts to the commit.
func (s *Store) ChangeMappings(
	ctx context.Context, testID int64, owner mapping.Owner, decide func(configure.Facts) (configure.Decision, error),
) (configure.Decision, error) {
	at := scope{testID, owner.LabID()}
	load := func(tx *sql.Tx) (configure.Facts, error) { return at.load(ctx, tx) }
	apply := func(tx *sql.Tx, d configure.Decision) error { return at.apply(ctx, tx, d) }
	d, err := mysqldb.Change(ctx, s.db, load, decide, apply)
	return d, mysqldb.Wrap("change mappings", err)
}

// scope is the mappings of a test for one owner. Laboratory 0 means the defaults.
type scope struct{ testID, labID int64 }

// load locks the scope and then reads the facts, in seven statements.
func (s scope) load(ctx context.Context, tx *sql.Tx) (f configure.Facts, err error) {
	if err := s.lock(ctx, tx); err != nil {
		return f, err
	}
	if f.Rows, err = s.rows(ctx, tx, s.labID); err != nil {
		return f, err
	}
	if f.Defaults, err = s.rows(ctx, tx, 0); err != nil {
		return f, err
	}
	if f.Formats, err = s.formats(ctx, tx); err != nil {
		return f, err
	}
	cells, err := readCells(ctx, tx)
	f.Cells = mapping.ByID(cells)
	return f, err
}

// lock locks the scope's row of settings. It creates a missing row with the target of the defaults.
func (s scope) lock(ctx context.Context, tx *sql.Tx) error {
	var id, target int64
	const test = "SELECT t.id FROM AllTests t WHERE t.id = ? AND (? = 0 OR t.labId_id IS NULL OR t.labId_id = ?)"
	err := tx.QueryRowContext(ctx, test, s.testID, s.labID, s.labID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return mapping.ErrNoTest
	}
	if err != nil {
		return mysqldb.Wrap("read test", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO cell_counter_setting (test_id, lab_scope, target_count)
SELECT ?, ?, IFNULL((SELECT d.target_count FROM cell_counter_setting d WHERE d.test_id = ? AND d.lab_scope = 0), ?)
ON DUPLICATE KEY UPDATE test_id = VALUES(test_id)`, s.testID, s.labID, s.testID, mapping.DefaultTarget)
	if err != nil {
		return mysqldb.Wrap("lock scope", err)
	}
	const locked = "SELECT target_count FROM cell_counter_setting WHERE test_id = ? AND lab_scope = ? FOR UPDATE"
	return mysqldb.Wrap("lock scope", tx.QueryRowContext(ctx, locked, s.testID, s.labID).Scan(&target))
}

func (s scope) rows(ctx context.Context, tx *sql.Tx, labID int64) ([]mapping.Row, error) {
	const query = "SELECT id, `key`, cell_id, report_format_index, report_format_order, include_in_total" +
		" FROM cell_counter_mappings WHERE test_id = ? AND lab_scope = ? ORDER BY id"
	rows, err := mysqldb.Collect(ctx, tx, query, []any{s.testID, labID}, func(row mysqldb.Row, r *mapping.Row) error {
		var key string
		err := row.Scan(&r.ID, &key, &r.CellID, &r.Parameter.Index, &r.Parameter.Order, &r.IncludeInTotal)
		r.Key = mapping.StoredKey(key)
		return err
	})
	return rows, mysqldb.Wrap("read mappings", err)
}

func (s scope) formats(ctx context.Context, tx *sql.Tx) (map[int64]mapping.Parameter, error) {
	const query = "SELECT id, `index`, `order` FROM ReportFormat WHERE testId_id = ? AND isDisabled = 0"
	formats := map[int64]mapping.Parameter{}
	err := mysqldb.Each(ctx, tx, query, []any{s.testID}, func(rows *sql.Rows) error {
		var id int64
		var p mapping.Parameter
		err := rows.Scan(&id, &p.Index, &p.Order)
		formats[id] = p
		return err
	})
	return formats, mysqldb.Wrap("read report formats", err)
}
