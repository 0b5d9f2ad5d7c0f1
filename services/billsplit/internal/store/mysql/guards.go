package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Guards maps guarded tables to the column with the bill's id, where it is not bill_id.
type Guards map[string]string

const (
	guardColumn    = "bill_id"
	guardRowColumn = "billing_info_id"
	attachment     = "attachment"
)

func (g Guards) column(table string) string {
	if column := g[table]; column != "" {
		return column
	}
	return guardColumn
}

func (g Guards) columns() map[string][]string {
	all := map[string][]string{}
	for _, guard := range bill.Guards() {
		all[guard.Table] = []string{g.column(guard.Table)}
		if guard.PerRow {
			all[guard.Table] = append(all[guard.Table], guardRowColumn)
		}
	}
	return all
}

// around reads all guarded tables and the attachments with one statement.
func (t *transaction) around(ctx context.Context, billID int64, tests []int64) (bill.Surroundings, error) {
	query, args := t.guards.query(billID, tests)
	var around bill.Surroundings
	err := mysqldb.Each(ctx, t.tx, query, args, func(rows *sql.Rows) error {
		var kind, value string
		err := rows.Scan(&kind, &value)
		if kind == attachment {
			around.Attachments = append(around.Attachments, value)
		} else {
			around.Guarded = append(around.Guarded, kind)
		}
		return err
	})
	return around, mysqldb.Wrap("read guarded tables", err)
}

// query returns the statement that finds the guarded tables with rows about the bill or the tests, and the categories
// of the bill's active attachments. It has no condition on the laboratory: the bill's laboratory was checked.
func (g Guards) query(billID int64, tests []int64) (string, []any) {
	var parts []string
	var args []any
	for _, guard := range bill.Guards() {
		condition := "`" + g.column(guard.Table) + "` = ?"
		args = append(args, billID)
		if guard.PerRow && len(tests) > 0 {
			var marks string
			marks, args = mysqldb.In(tests, args...)
			condition += " OR " + guardRowColumn + " IN (" + marks + ")"
		}
		parts = append(parts, "(SELECT '"+guard.Table+"', '' FROM `"+guard.Table+"` WHERE "+condition+" LIMIT 1)")
	}
	parts = append(parts, "(SELECT DISTINCT '"+attachment+"', category FROM bill_attachment WHERE bill_id = ?"+
		" AND is_active <> 0)")
	return strings.Join(parts, " UNION ALL "), append(args, billID)
}
