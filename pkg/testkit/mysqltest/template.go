package mysqltest

import (
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
)

// Template is the set of tables in every database of a service's tests. The migrations run once per test process. Each
// test gets a copy, made in one round trip from the output of SHOW CREATE TABLE and the rows that the migrations
// insert. Keep a Template in a package variable.
type Template struct {
	// Platform names the columns of the platform's tables that the service uses, like LegacyColumns of its store. Only
	// these tables exist, so a statement on any other table fails in the tests.
	Platform map[string][]string
	Schemas  []mysqldb.Schema

	once   sync.Once
	script string // statements that create a copy
}

// New returns a pool on a new database with the template's tables. The pool is closed and the database dropped when t
// ends.
func (p *Template) New(t testing.TB) *sql.DB {
	t.Helper()
	db, _ := p.Open(t)
	return db
}

// Open returns the pool of New and the DSN of its database.
func (p *Template) Open(t testing.TB) (*sql.DB, string) {
	t.Helper()
	serverConfig(t) // skips each test without a server, not only the first, which builds the script
	p.once.Do(func() { p.script = p.build(t) })
	if p.script == "" {
		t.Fatal("the template of this test's database could not be created; see the first failed test")
	}
	return open(t, p.script)
}

// build migrates a database and returns the statements that create a copy of it.
func (p *Template) build(t testing.TB) string {
	t.Helper()
	db := New(t)
	p.createPlatform(t, db)
	if err := mysqldb.RequireColumns(t.Context(), db, p.Platform); err != nil {
		t.Fatalf("the platform's tables: %v", err)
	}
	if len(p.Schemas) > 0 {
		if err := mysqldb.Migrate(t.Context(), db, p.Schemas, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatalf("migrate: %v", err)
		}
	}
	script := []string{"SET SESSION foreign_key_checks = 0"} // tables are in alphabetical order
	for _, table := range column(t, db, "SHOW TABLES") {
		script = append(script, createStatement(t, db, table))
		if rows := insertStatement(t, db, table); rows != "" {
			script = append(script, rows)
		}
	}
	return strings.Join(script, ";\n")
}

func (p *Template) createPlatform(t testing.TB, db *sql.DB) {
	t.Helper()
	tables := legacydb.Tables()
	for i, statement := range legacydb.Statements() {
		if _, named := p.Platform[tables[i]]; !named {
			continue
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("create the platform's table %s: %v", tables[i], err)
		}
	}
}

func createStatement(t testing.TB, db *sql.DB, table string) string {
	t.Helper()
	var statement string
	row := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE `"+table+"`")
	if err := row.Scan(&table, &statement); err != nil {
		t.Fatalf("read the definition of %s: %v", table, err)
	}
	return statement
}

// insertStatement returns the statement that inserts the rows of a table, empty if it has none.
func insertStatement(t testing.TB, db *sql.DB, table string) string {
	t.Helper()
	const stored = "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE()" +
		" AND table_name = ? AND COALESCE(generation_expression, '') = '' ORDER BY ordinal_position"
	columns := column(t, db, stored, table)
	for i, name := range columns {
		columns[i] = "`" + name + "`"
	}
	quoted := "QUOTE(" + strings.Join(columns, "), QUOTE(") + ")"
	rows := column(t, db, "SELECT CONCAT_WS(', ', "+quoted+") FROM `"+table+"`")
	if len(rows) == 0 {
		return ""
	}
	return fmt.Sprintf("INSERT INTO `%s` (%s) VALUES (%s)", table, strings.Join(columns, ", "),
		strings.Join(rows, "),\n("))
}

// column returns the first column of a query's result.
func column(t testing.TB, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	list, err := mysqldb.Collect(t.Context(), db, query, args,
		func(row mysqldb.Row, s *string) error { return row.Scan(s) })
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}
