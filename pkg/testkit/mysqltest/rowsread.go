package mysqltest

import (
	"database/sql"
	"testing"
)

// RowsRead returns the number of rows and index entries that the server read during work, which does not depend on the
// machine: a query that reads a whole table reads more when the table grows. Afterwards db is limited to one
// connection; work must use only this one. Call work once before: the first call also reads rows of the dictionary.
func RowsRead(t testing.TB, db *sql.DB, work func()) int {
	t.Helper()
	db.SetMaxOpenConns(1)
	before := handlerReads(t, db)
	work()
	return handlerReads(t, db) - before
}

func handlerReads(t testing.TB, db *sql.DB) int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sum := 0
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return sum
}
