package mysqldb

import (
	"context"
	"database/sql"
)

// RowsQuerier is a *sql.DB, *sql.Conn or *sql.Tx.
type RowsQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls scan for every row that the query answers with, in their order. The error is the query's or the first of
// scan, as it came.
func Each(ctx context.Context, q RowsQuerier, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
