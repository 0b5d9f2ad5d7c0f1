package e2e

import (
	"context"
	"database/sql"
	"fmt"
)

// ownNumbers is greater than every id of a fixture.
const ownNumbers = 1_000_000_000

// countFromFarAbove gives new rows of the services ids that no fixture has, because fixtures with fixed ids are written
// while services insert into the same tables for parallel tests.
func countFromFarAbove(ctx context.Context, dsn string) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT TABLE_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"+
		" AND EXTRA LIKE '%auto_increment%' AND DATA_TYPE IN ('int', 'bigint')")
	if err != nil {
		return err
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			return err
		}
		tables = append(tables, table)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("ALTER TABLE `%s` AUTO_INCREMENT = %d", table, ownNumbers)); err != nil {
			return fmt.Errorf("ids of %s: %w", table, err)
		}
	}
	return nil
}
