package e2e

import (
	"database/sql"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

// database is a pool on the stack's database, for facts that no path shows.
var database = sync.OnceValues(func() (*sql.DB, error) { return sql.Open("mysql", stack.Endpoints.MySQLDSN) })

func openMySQL(t *testing.T) *sql.DB {
	t.Helper()
	db, err := database()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// applyFixture writes rows, documents and sessions that a test needs.
func applyFixture(t *testing.T, text string) {
	t.Helper()
	fixture, err := seed.Parse([]byte(text), stack.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stack.seed.Apply(t.Context(), fixture); err != nil {
		t.Fatal(err)
	}
}

func execSQL(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := openMySQL(t).ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// queryTexts returns the only column of a query.
func queryTexts(t *testing.T, query string, args ...any) (texts []string) {
	t.Helper()
	rows, err := openMySQL(t).QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return texts
}

type oneRow struct {
	t *testing.T
	*sql.Row
}

func queryRow(t *testing.T, query string, args ...any) oneRow {
	t.Helper()
	return oneRow{t, openMySQL(t).QueryRowContext(t.Context(), query, args...)}
}

func (r oneRow) scan(dest ...any) {
	r.t.Helper()
	if err := r.Scan(dest...); err != nil {
		r.t.Fatal(err)
	}
}
