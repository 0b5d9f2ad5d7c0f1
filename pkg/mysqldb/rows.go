package mysqldb

import (
	"context"
	"database/sql"
	"strings"
)

// RowsQuerier is implemented by *sql.DB, *sql.Conn and *sql.Tx.
type RowsQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls scan for every row of the query's result, in order. It returns the unchanged error of the query or the
// first one of scan.
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

// Row is a *sql.Row, or *sql.Rows positioned at a row.
type Row interface{ Scan(into ...any) error }

// Collect returns the values that scan reads from the rows of the query's result, in order; it is nil without rows. The
// error is that of Each.
func Collect[T any](
	ctx context.Context, q RowsQuerier, query string, args []any, scan func(Row, *T) error,
) ([]T, error) {
	var all []T
	err := Each(ctx, q, query, args, func(rows *sql.Rows) error {
		var value T
		err := scan(rows, &value)
		all = append(all, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// In returns the placeholders of an IN list, and the arguments before, followed by values. For an empty list the
// placeholder is NULL, which equals no value.
func In[T any](values []T, before ...any) (marks string, args []any) {
	args = append(make([]any, 0, len(before)+len(values)), before...)
	if len(values) == 0 {
		return "NULL", args
	}
	for _, v := range values {
		args = append(args, v)
	}
	return strings.Repeat(",?", len(values))[1:], args
}
