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

// Row is a *sql.Row, or *sql.Rows at one of its rows.
type Row interface{ Scan(into ...any) error }

// Collect returns what scan makes of each row that the query answers with, in their order: nil of no row. The error is
// that of Each.
func Collect[T any](
	ctx context.Context, q RowsQuerier, query string, args []any, scan func(Row, *T) error,
) ([]T, error) {
	var all []T
	err := Each(ctx, q, query, args, func(rows *sql.Rows) error {
		var one T
		err := scan(rows, &one)
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
