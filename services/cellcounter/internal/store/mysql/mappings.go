package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

const readStatement = `SELECT m.id, m.lab_scope, m.` + "`key`" + `, m.cell_id, m.report_format_index, m.report_format_order,
  m.include_in_total,
  (SELECT s.target_count FROM cell_counter_setting s WHERE s.test_id = t.id AND s.lab_scope IN (0, ?)
    ORDER BY s.lab_scope DESC LIMIT 1)
FROM AllTests t LEFT JOIN cell_counter_mappings m ON m.test_id = t.id AND m.lab_scope IN (0, ?)
WHERE t.id = ? AND (? = 0 OR t.labId_id IS NULL OR t.labId_id = ?)
ORDER BY m.lab_scope DESC, m.report_format_order, m.report_format_index`

// Mappings reads with one statement, which returns the laboratory's rows before the defaults. A laboratory may have its
// own target and still use the default mappings.
func (s *Store) Mappings(ctx context.Context, testID int64, owner mapping.Owner) (configure.View, error) {
	args := []any{owner.LabID(), owner.LabID(), testID, owner.LabID(), owner.LabID()}
	rows, err := mysqldb.Collect(ctx, s.db, readStatement, args, scanOptionalRow)
	if err != nil {
		return configure.View{}, mysqldb.Wrap("read mappings", err)
	}
	if len(rows) == 0 {
		return configure.View{}, mapping.ErrNoTest
	}
	view := configure.View{Target: mapping.DefaultTarget, OwnLab: rows[0].scope.Int64 != 0}
	if target := rows[0].target; target.Valid {
		view.Target = int(target.Int64)
	}
	for _, r := range rows {
		if r.id.Valid && (r.scope.Int64 != 0) == view.OwnLab {
			view.Rows = append(view.Rows, r.row())
		}
	}
	return view, nil
}

// optionalRow is a row of the outer join of tests and mappings. Without an id, the test has no mapping.
type optionalRow struct {
	id, scope, cell, index, order, target sql.NullInt64
	key                                   sql.NullString
	included                              sql.NullBool
}

func scanOptionalRow(row mysqldb.Row, r *optionalRow) error {
	return row.Scan(&r.id, &r.scope, &r.key, &r.cell, &r.index, &r.order, &r.included, &r.target)
}

func (r *optionalRow) row() mapping.Row {
	return mapping.Row{ID: r.id.Int64, Mapping: mapping.Mapping{
		Key: mapping.StoredKey(r.key.String), CellID: r.cell.Int64, IncludeInTotal: r.included.Bool,
		Parameter: mapping.Parameter{Index: int(r.index.Int64), Order: int(r.order.Int64)},
	}}
}
