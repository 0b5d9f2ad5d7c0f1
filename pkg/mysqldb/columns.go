package mysqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

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
