// Package migrationtest owns what the migrations of every service promise: tables of shared packages are as these
// packages make them, and a migration that died before its note was written runs again.
package migrationtest

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

// Migrations are a service's.
type Migrations struct {
	Service string
	Files   fs.FS
	// Outbox and Idempotency name the tables of the packages; "" where the service has none.
	Outbox, Idempotency string
}

// Run tests m.
func Run(t *testing.T, m Migrations) {
	t.Helper()
	if m.Outbox != "" {
		t.Run("the outbox is the one that the relay needs", func(t *testing.T) {
			t.Parallel()
			table, err := outbox.NewTable(m.Outbox)
			if err != nil {
				t.Fatal(err)
			}
			m.same(t, table.Name(), table.DDL())
		})
	}
	if m.Idempotency != "" {
		t.Run("the keys are as they are kept", func(t *testing.T) {
			t.Parallel()
			table, err := idempotency.NewTable(m.Idempotency)
			if err != nil {
				t.Fatal(err)
			}
			m.same(t, table.Name(), table.DDL())
		})
	}
	t.Run("a migration that was interrupted anywhere runs again", m.interrupted)
}

func (m Migrations) migrated(t *testing.T) *sql.DB {
	t.Helper()
	db, _ := m.empty(t)
	if err := m.migrate(t, db); err != nil {
		t.Fatal(err)
	}
	return db
}

// empty returns a database with the platform's tables alone.
func (m Migrations) empty(t *testing.T) (*sql.DB, string) {
	t.Helper()
	db, dsn := mysqltest.Open(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db, dsn
}

func (m Migrations) migrate(t *testing.T, db *sql.DB) error {
	t.Helper()
	return mysqldb.Migrate(t.Context(), db, m.Service, m.Files, slog.New(slog.DiscardHandler))
}

func (m Migrations) same(t *testing.T, name, ddl string) {
	t.Helper()
	fresh := mysqltest.New(t)
	if _, err := fresh.ExecContext(t.Context(), ddl); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(createTable(t, fresh, name), createTable(t, m.migrated(t), name)); diff != "" {
		t.Fatal(diff)
	}
}

// interrupted has process after process die in the migrations, each a statement later than the one before: after each
// statement of a migration, before and after its note, the next process begins that migration again.
func (m Migrations) interrupted(t *testing.T) {
	t.Parallel()
	want := m.content(t, m.migrated(t))
	db, dsn := m.empty(t)
	version, statements, deaths := 0, 0, 0
	for {
		process := newProcess(t, dsn, statements)
		err := m.migrate(t, process)
		_ = process.Close()
		if err == nil {
			break
		}
		if !errors.Is(err, errCrashed) {
			t.Fatalf("after %d deaths, in the migration behind %d: %v", deaths, version, err)
		}
		deaths++
		statements++
		if reached := m.version(t, db); reached > version {
			version, statements = reached, 0
		}
	}
	if diff := cmp.Diff(want, m.content(t, db)); diff != "" {
		t.Fatalf("after %d deaths: %s", deaths, diff)
	}
	t.Logf("%d processes died on the way", deaths)
}

func (m Migrations) version(t *testing.T, db *sql.DB) (version int) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), "SELECT COALESCE(MAX(version_id), 0) FROM goose_"+m.Service).Scan(&version)
	if err != nil && !mysqldb.IsNoTable(err) {
		t.Fatal(err)
	}
	return version
}

// content returns the statement that makes each table of the database, and how many rows it has.
func (m Migrations) content(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	content := m.tables(t, db)
	for name := range content {
		var rows int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM `"+name+"`").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		content[name] += fmt.Sprintf(" -- %d rows", rows)
	}
	return content
}

// tables returns the statement that makes each table of the database.
func (m Migrations) tables(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SHOW TABLES")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	statements := map[string]string{}
	for _, name := range names {
		if !strings.HasPrefix(name, "goose_") {
			statements[name] = createTable(t, db, name)
		}
	}
	return statements
}

// counter is the next number of a table: a repeated INSERT IGNORE uses some up, which does no harm.
var counter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

func createTable(t *testing.T, db *sql.DB, name string) string {
	t.Helper()
	var statement string
	if err := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE `"+name+"`").Scan(&name, &statement); err != nil {
		t.Fatal(err)
	}
	return counter.ReplaceAllString(statement, "")
}
