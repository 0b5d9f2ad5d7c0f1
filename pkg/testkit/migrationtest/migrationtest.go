// Package migrationtest owns what the migrations of every service promise: tables of shared packages are as these
// packages make them, and a migration that died before its note was written runs again.
package migrationtest

import (
	"database/sql"
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
	t.Run("a migration that died before its note runs again", m.again)
}

func (m Migrations) migrated(t *testing.T) *sql.DB {
	t.Helper()
	db := mysqltest.New(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	m.migrate(t, db)
	return db
}

func (m Migrations) migrate(t *testing.T, db *sql.DB) {
	t.Helper()
	if err := mysqldb.Migrate(t.Context(), db, m.Service, m.Files, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
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

// again takes back the note of each migration alone, then of all together.
func (m Migrations) again(t *testing.T) {
	t.Parallel()
	db := m.migrated(t)
	want := m.tables(t, db)
	notes := "goose_" + m.Service
	var last int
	if err := db.QueryRowContext(t.Context(), "SELECT MAX(version_id) FROM "+notes).Scan(&last); err != nil {
		t.Fatal(err)
	}
	for from := last; from > 0; from-- {
		if _, err := db.ExecContext(t.Context(), "DELETE FROM "+notes+" WHERE version_id >= ?", from); err != nil {
			t.Fatal(err)
		}
		m.migrate(t, db)
		if diff := cmp.Diff(want, m.tables(t, db)); diff != "" {
			t.Fatalf("from migration %d: %s", from, diff)
		}
	}
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
