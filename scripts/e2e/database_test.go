package e2e

import (
	"database/sql"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql"
)

// database is the stack's, for what no path shows.
var database = sync.OnceValues(func() (*sql.DB, error) { return sql.Open("mysql", stack.Endpoints.MySQLDSN) })

func execSQL(t *testing.T, statement string, args ...any) {
	t.Helper()
	db, err := database()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

type oneRow struct {
	t *testing.T
	*sql.Row
}

func queryRow(t *testing.T, query string, args ...any) oneRow {
	t.Helper()
	db, err := database()
	if err != nil {
		t.Fatal(err)
	}
	return oneRow{t, db.QueryRowContext(t.Context(), query, args...)}
}

func (r oneRow) scan(dest ...any) {
	r.t.Helper()
	if err := r.Scan(dest...); err != nil {
		r.t.Fatal(err)
	}
}
