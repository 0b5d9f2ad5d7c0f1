package crashdb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

var template = mysqltest.Template{Schemas: []mysqldb.Schema{{Service: "test", Files: fstest.MapFS{
	"00001_test.sql": {Data: []byte("-- +goose Up\nCREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL);\n")},
}}}}

// add inserts the item 1 in a transaction of three statements, then the item 2 without one.
func add(ctx context.Context, db *sql.DB) error {
	err := mysqldb.InTx(ctx, db, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM item").Scan(&n); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO item VALUES (1, ?)", n)
		return err
	})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO item VALUES (2, 0)")
	return err
}

func items(t *testing.T, db *sql.DB) []int {
	t.Helper()
	ids, err := mysqldb.Collect(t.Context(), db, "SELECT id FROM item ORDER BY id", nil,
		func(row mysqldb.Row, id *int) error { return row.Scan(id) })
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestEachStatementIsACrash(t *testing.T) {
	t.Parallel()
	var db *sql.DB
	open := func() string {
		var dsn string
		db, dsn = template.Open(t)
		return dsn
	}
	var got []string
	check := func(c crashdb.Crash, err error) {
		got = append(got, fmt.Sprintf("%s: %v, %v", c, items(t, db), outcome(err)))
	}
	crashes := crashdb.Each(t, open, func(db *sql.DB) error { return add(t.Context(), db) }, check)
	want := []string{
		"died before statement 1, BEGIN: [], crashed",
		"died before statement 2, SELECT COUNT(*) FROM item: [], crashed",
		"died before statement 3, INSERT INTO item VALUES (1, ?): [], crashed",
		"died before statement 4, COMMIT: [], crashed",
		"lost the response to statement 4, COMMIT: [1], commit unknown",
		"died before statement 5, INSERT INTO item VALUES (2, 0): [1], crashed",
		"lost the response to statement 5, INSERT INTO item VALUES (2, 0): [1 2], connection broken",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(crashes) != len(want) {
		t.Errorf("%d crashes, want %d (-want +got): %s", len(crashes), len(want), diff)
	}
	if all := items(t, db); !slices.Equal(all, []int{1, 2}) {
		t.Errorf("items after the last process = %v, want [1 2]", all)
	}
}

func outcome(err error) string {
	switch {
	case errors.Is(err, mysqldb.ErrCommitUnknown) && errors.Is(err, mysql.ErrInvalidConn):
		return "commit unknown"
	case errors.Is(err, mysql.ErrInvalidConn):
		return "connection broken"
	case errors.Is(err, crashdb.ErrCrashed):
		return "crashed"
	}
	return fmt.Sprint(err)
}

// The test checks that a dead process executes nothing more on any connection, and that the server releases its locks.
func TestDeadProcessExecutesNothing(t *testing.T) {
	t.Parallel()
	db, dsn := template.Open(t)
	if err := add(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	p := crashdb.Start(t, dsn, crashdb.Crash{Statement: 3})
	tx, err := p.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE item SET n = 9"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"the statement":          second(p.DB.ExecContext(t.Context(), "DELETE FROM item")),
		"another statement":      second(tx.ExecContext(t.Context(), "DELETE FROM item")),
		"the commit":             tx.Commit(),
		"a new connection":       p.DB.PingContext(t.Context()),
		"another transaction":    second(p.DB.BeginTx(t.Context(), nil)),
		"a statement to prepare": second(p.DB.PrepareContext(t.Context(), "SELECT 1")),
	} {
		if !errors.Is(err, crashdb.ErrCrashed) && !errors.Is(err, mysql.ErrInvalidConn) {
			t.Errorf("%s: error = %v, want one of the crash", what, err)
		}
	}
	if c, happened := p.Crashed(); !happened || c.Text != "DELETE FROM item" {
		t.Errorf("crash = %s, happened = %v, want it before the DELETE", c, happened)
	}
	var sum int
	row := db.QueryRowContext(t.Context(), "SELECT SUM(n) FROM item FOR UPDATE")
	if err := row.Scan(&sum); err != nil || sum != 0 {
		t.Errorf("sum after the crash = %d, error %v, want 0 after a rollback", sum, err)
	}
}

func second[T any](_ T, err error) error { return err }
