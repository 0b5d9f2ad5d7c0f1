package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Apply implements configure.Locked. Rows that are rewritten keep their id and who made them: they are moved out of the
// way of each other first, under keys that no write can have.
func (l *locked) Apply(ctx context.Context, p mapping.Plan, by authn.Actor) error {
	if err := l.setAside(ctx, p.Remove); err != nil {
		return err
	}
	for _, row := range p.Write {
		if err := l.write(ctx, row, by); err != nil {
			return err
		}
	}
	return nil
}

// setAside gives each row a key and a parameter made from its id: a space cannot be in a key, and report
// formats have no negative index.
func (l *locked) setAside(ctx context.Context, rows []mapping.Row) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	marks, args := mysqldb.In(ids)
	_, err := l.tx.ExecContext(ctx, "UPDATE cell_counter_mappings SET `key` = CONCAT('# ', id), report_format_index = -id"+
		" WHERE id IN ("+marks+")", args...)
	return mysqldb.Wrap("move mappings aside", err)
}

func (l *locked) write(ctx context.Context, row mapping.Row, by authn.Actor) error {
	if row.ID != 0 {
		_, err := l.tx.ExecContext(ctx, "UPDATE cell_counter_mappings SET `key` = ?, cell_id = ?, report_format_index = ?,"+
			" report_format_order = ?, include_in_total = ?, updated_by = ?, updated_by_kind = ?, updated_at = ?"+
			" WHERE id = ?",
			row.Key.String(), row.CellID, row.Parameter.Index, row.Parameter.Order, row.IncludeInTotal, by.ID,
			string(by.Kind), l.now, row.ID)
		return taken(err, row)
	}
	labID := sql.NullInt64{Int64: l.owner.LabID(), Valid: l.owner.LabID() != 0}
	_, err := l.tx.ExecContext(
		ctx,
		"INSERT INTO cell_counter_mappings (test_id, lab_id, `key`, cell_id, report_format_index,"+
			" report_format_order, include_in_total, created_by, created_by_kind, updated_by, updated_by_kind,"+
			" created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
		l.testID,
		labID,
		row.Key.String(),
		row.CellID,
		row.Parameter.Index,
		row.Parameter.Order,
		row.IncludeInTotal,
		by.ID,
		string(by.Kind),
		by.ID,
		string(by.Kind),
		l.now,
		l.now,
	)
	return taken(err, row)
}
