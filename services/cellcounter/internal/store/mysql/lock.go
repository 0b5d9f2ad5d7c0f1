package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Lock implements configure.Store. The scope's row of settings is its lock; the first writer of a scope makes it, with
// the default scope's target.
func (s *Store) Lock(ctx context.Context, testID int64, owner mapping.Owner, work func(configure.Locked) error) error {
	return mysqldb.Wrap("write mappings", mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		l := &locked{tx: tx, testID: testID, owner: owner, now: s.clock.Now().Unix()}
		if err := l.lock(ctx); err != nil {
			return err
		}
		return work(l)
	}))
}

// locked implements configure.Locked within a transaction.
type locked struct {
	tx     *sql.Tx
	testID int64
	owner  mapping.Owner
	now    int64 // epoch seconds
}

var _ configure.Locked = (*locked)(nil)

func (l *locked) lock(ctx context.Context) error {
	var id int64
	err := l.tx.QueryRowContext(ctx, "SELECT t.id "+tests, l.testID, l.owner.LabID(), l.owner.LabID()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return mapping.ErrNoTest
	}
	if err != nil {
		return mysqldb.Wrap("read test", err)
	}
	_, err = l.tx.ExecContext(ctx, `INSERT INTO cell_counter_setting (test_id, lab_scope, target_count)
SELECT ?, ?, IFNULL((SELECT d.target_count FROM cell_counter_setting d WHERE d.test_id = ? AND d.lab_scope = 0), ?)
ON DUPLICATE KEY UPDATE test_id = VALUES(test_id)`, l.testID, l.owner.LabID(), l.testID, mapping.DefaultTarget)
	if err != nil {
		return mysqldb.Wrap("lock scope", err)
	}
	err = l.tx.QueryRowContext(ctx, "SELECT target_count FROM cell_counter_setting WHERE test_id = ? AND lab_scope = ? FOR UPDATE",
		l.testID, l.owner.LabID()).
		Scan(&id)
	return mysqldb.Wrap("lock scope", err)
}

func (l *locked) Rows(ctx context.Context) ([]mapping.Row, error) {
	return l.rows(ctx, l.owner.LabID())
}

func (l *locked) Defaults(ctx context.Context) ([]mapping.Row, error) { return l.rows(ctx, 0) }

func (l *locked) rows(ctx context.Context, scope int64) ([]mapping.Row, error) {
	const query = "SELECT id, `key`, cell_id, report_format_index, report_format_order, include_in_total" +
		" FROM cell_counter_mappings WHERE test_id = ? AND lab_scope = ? ORDER BY id"
	list, err := mysqldb.Collect(ctx, l.tx, query, []any{l.testID, scope}, func(row mysqldb.Row, r *mapping.Row) error {
		var key string
		err := row.Scan(&r.ID, &key, &r.CellID, &r.Parameter.Index, &r.Parameter.Order, &r.IncludeInTotal)
		r.Key = mapping.StoredKey(key)
		return err
	})
	return list, mysqldb.Wrap("read mappings", err)
}

func (l *locked) Formats(ctx context.Context) (map[int64]mapping.Parameter, error) {
	const query = "SELECT id, `index`, `order` FROM ReportFormat WHERE testId_id = ? AND isDisabled = 0"
	formats := map[int64]mapping.Parameter{}
	err := mysqldb.Each(ctx, l.tx, query, []any{l.testID}, func(rows *sql.Rows) error {
		var id int64
		var p mapping.Parameter
		err := rows.Scan(&id, &p.Index, &p.Order)
		formats[id] = p
		return err
	})
	return formats, mysqldb.Wrap("read report formats", err)
}

func (l *locked) Cells(ctx context.Context, ids []int64) (map[int64]mapping.Cell, error) {
	found := map[int64]mapping.Cell{}
	cells, err := cellsByID(ctx, l.tx, ids)
	for _, c := range cells {
		found[c.ID] = c
	}
	return found, err
}

func (l *locked) Delete(ctx context.Context, ids []int64) error {
	marks, args := mysqldb.In(ids, l.testID, l.owner.LabID())
	_, err := l.tx.ExecContext(ctx, "DELETE FROM cell_counter_mappings WHERE test_id = ? AND lab_scope = ? AND id IN ("+
		marks+")", args...)
	return mysqldb.Wrap("delete mappings", err)
}

func (l *locked) Forget(ctx context.Context) error {
	_, err := l.tx.ExecContext(ctx, "DELETE FROM cell_counter_setting WHERE test_id = ? AND lab_scope = ?", l.testID,
		l.owner.LabID())
	return mysqldb.Wrap("forget target", err)
}

func (l *locked) SetTarget(ctx context.Context, n int) error {
	_, err := l.tx.ExecContext(ctx, "UPDATE cell_counter_setting SET target_count = ? WHERE test_id = ? AND lab_scope = ?",
		n, l.testID, l.owner.LabID())
	return mysqldb.Wrap("set target", err)
}

// taken tells which unique index a row met.
func taken(err error, row mapping.Row) error {
	var refused *mysql.MySQLError
	if !mysqldb.IsDuplicate(err) || !errors.As(err, &refused) {
		return mysqldb.Wrap("write mapping", err)
	}
	if strings.Contains(refused.Message, "uq_ccm_param") {
		return mapping.ParameterTaken(row.Parameter)
	}
	return mapping.KeyTaken(row.Key)
}
