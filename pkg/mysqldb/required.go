package mysqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Index describes an index that a service needs on a table of another owner: any index that starts with these columns
// is sufficient.
type Index struct {
	Table   string
	Columns []string
	For     string // the queries that read the whole table if the index is missing
}

func (i Index) statement() string {
	return fmt.Sprintf("CREATE INDEX `ix_%s` ON `%s` (`%s`)", strings.Join(i.Columns, "_"), i.Table, strings.Join(i.Columns, "`, `"))
}

// MissingIndexes returns, for each missing index, a sentence with the statement that creates it. Nothing is altered:
// the table has another owner, and the service works without the index, but slowly.
func MissingIndexes(ctx context.Context, db *sql.DB, wanted []Index) ([]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS"+
		" WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX")
	if err != nil {
		return nil, fmt.Errorf("read indexes: %w", err)
	}
	defer rows.Close()
	existing := map[[2]string][]string{} // columns by table and name of the index
	for rows.Next() {
		var key [2]string
		var column sql.NullString // NULL for an expression
		if err := rows.Scan(&key[0], &key[1], &column); err != nil {
			return nil, fmt.Errorf("read indexes: %w", err)
		}
		existing[key] = append(existing[key], column.String)
	}
	var missing []string
	for _, want := range wanted {
		served := false
		for key, columns := range existing {
			served = served || key[0] == want.Table && len(columns) >= len(want.Columns) &&
				slices.Equal(columns[:len(want.Columns)], want.Columns)
		}
		if !served {
			missing = append(missing, want.For+" reads all of "+want.Table+" without this index: "+want.statement())
		}
	}
	return missing, rows.Err()
}

// RequireColumns returns an error if tables of other owners lack columns that the service reads. The error lists the
// missing columns as DDL statements; nothing is altered.
func RequireColumns(ctx context.Context, db *sql.DB, columns map[string][]string) error {
	const query = "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
	existing := map[string]bool{}
	err := Each(ctx, db, query, nil, func(rows *sql.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		existing[table+"."+column] = true
		return err
	})
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	var missing []string
	for table, names := range columns {
		for _, name := range names {
			if !existing[table+"."+name] {
				missing = append(missing, fmt.Sprintf("ALTER TABLE `%s` ADD COLUMN `%s` …", table, name))
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("the platform's tables lack columns that this service reads; ask their owner for:\n  %s",
		strings.Join(missing, "\n  "))
}
