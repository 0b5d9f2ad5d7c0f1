package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// apply writes the decision to the scope.
func (s scope) apply(ctx context.Context, tx *sql.Tx, d configure.Decision) error {
	if err := s.remove(ctx, tx, d.Delete); err != nil {
		return err
	}
	if err := s.setAside(ctx, tx, d.Write); err != nil {
		return err
	}
	for _, row := range d.Write {
		write := s.insert
		if row.ID != 0 {
			write = s.rewrite
		}
		if err := taken(write(ctx, tx, row, d.By, d.At), row); err != nil {
			return err
		}
	}
	return s.setTarget(ctx, tx, d)
}

func (s scope) remove(ctx context.Context, tx *sql.Tx, rows []mapping.Row) error {
	if len(rows) == 0 {
		return nil
	}
	marks, args := mysqldb.In(idsOf(rows), s.testID, s.labID)
	_, err := tx.ExecContext(ctx, "DELETE FROM cell_counter_mappings WHERE test_id = ? AND lab_scope = ? AND id IN ("+
		marks+")", args...)
	return mysqldb.Wrap("delete mappings", err)
}

// setAside gives each stored row a temporary key and parameter derived from its id, so that rows can exchange keys
// without violating the unique indexes. The temporary values cannot equal others, because keys of requests contain no
// space and report formats have no negative index.
func (s scope) setAside(ctx context.Context, tx *sql.Tx, rows []mapping.Row) error {
	ids := idsOf(rows)
	if len(ids) == 0 {
		return nil
	}
	marks, args := mysqldb.In(ids, s.testID, s.labID)
	_, err := tx.ExecContext(ctx, "UPDATE cell_counter_mappings SET `key` = CONCAT('# ', id), report_format_index = -id"+
		" WHERE test_id = ? AND lab_scope = ? AND id IN ("+marks+")", args...)
	return mysqldb.Wrap("move mappings aside", err)
}

// idsOf returns the ids of those rows that are stored.
func idsOf(rows []mapping.Row) []int64 {
	var ids []int64
	for _, row := range rows {
		if row.ID != 0 {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

func (s scope) rewrite(ctx context.Context, tx *sql.Tx, row mapping.Row, by authn.Actor, at int64) error {
	_, err := tx.ExecContext(ctx, "UPDATE cell_counter_mappings SET `key` = ?, cell_id = ?, report_format_index = ?,"+
		" report_format_order = ?, include_in_total = ?, updated_by = ?, updated_by_kind = ?, updated_at = ?"+
		" WHERE id = ? AND test_id = ? AND lab_scope = ?",
		row.Key.String(), row.CellID, row.Parameter.Index, row.Parameter.Order, row.IncludeInTotal, by.ID,
		string(by.Kind), at, row.ID, s.testID, s.labID)
	return err
}

func (s scope) insert(ctx context.Context, tx *sql.Tx, row mapping.Row, by authn.Actor, at int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO cell_counter_mappings (test_id, lab_id, `key`, cell_id,"+
		" report_format_index, report_format_order, include_in_total, created_by, created_by_kind, updated_by,"+
		" updated_by_kind, created_at, updated_at) VALUES (?,NULLIF(?, 0),?,?,?,?,?,?,?,?,?,?,?)",
		s.testID, s.labID, row.Key.String(), row.CellID, row.Parameter.Index, row.Parameter.Order, row.IncludeInTotal,
		by.ID, string(by.Kind), by.ID, string(by.Kind), at, at)
	return err
}

// taken converts a duplicate-key error, by the unique index that it names.
func taken(err error, row mapping.Row) error {
	var refused *mysql.MySQLError
	switch {
	case !mysqldb.IsDuplicate(err) || !errors.As(err, &refused):
		return mysqldb.Wrap("write mapping", err)
	case strings.Contains(refused.Message, "uq_ccm_param"):
		return mapping.ParameterTaken(row.Parameter)
	}
	return mapping.KeyTaken(row.Key)
}

func (s scope) setTarget(ctx context.Context, tx *sql.Tx, d configure.Decision) (err error) {
	switch {
	case d.DropTarget:
		_, err = tx.ExecContext(ctx, "DELETE FROM cell_counter_setting WHERE test_id = ? AND lab_scope = ?",
			s.testID, s.labID)
	case d.Target != nil:
		_, err = tx.ExecContext(ctx, "UPDATE cell_counter_setting SET target_count = ? WHERE test_id = ?"+
			" AND lab_scope = ?", *d.Target, s.testID, s.labID)
	}
	return mysqldb.Wrap("set target", err)
}
