// Package migrationtest checks that the migrations of a service can be interrupted anywhere and run again.
package migrationtest

import (
	"database/sql"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

// Migrations are the migrations of one service.
type Migrations []mysqldb.Schema

// Run tests that interrupted migrations complete when they run again.
func Run(t *testing.T, m Migrations) {
	t.Helper()
	t.Run("interrupted migrations run again", m.interrupted)
}

func (m Migrations) migrated(t *testing.T) *sql.DB {
	t.Helper()
	db, _ := empty(t)
	if err := m.migrate(t, db); err != nil {
		t.Fatal(err)
	}
	return db
}

// empty returns a database with only the platform's tables.
func empty(t *testing.T) (*sql.DB, string) {
	t.Helper()
	db, dsn := mysqltest.Open(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db, dsn
}

func (m Migrations) migrate(t *testing.T, db *sql.DB) error {
	t.Helper()
	return mysqldb.Migrate(t.Context(), db, m, slog.New(slog.DiscardHandler))
}

// interrupted lets one process after another die during the migrations, each one statement later than the last. After
// each statement of a migration, and before and after its record in the version table, the next process starts that
// migration again.
func (m Migrations) interrupted(t *testing.T) {
	t.Parallel()
	want := content(t, m.migrated(t))
	db, dsn := empty(t)
	version, statement, crashes := 0, 1, 0
	for {
		process := crashdb.Start(t, dsn, crashdb.Crash{Statement: statement, WritesOnly: true})
		err := m.migrate(t, process.DB)
		_ = process.DB.Close()
		if err == nil {
			break
		}
		if _, died := process.Crashed(); !died {
			t.Fatalf("after %d crashes, in the migration after version %d: %v", crashes, version, err)
		}
		crashes++
		statement++
		if reached := m.version(t, db); reached > version {
			version, statement = reached, 1
		}
	}
	if diff := cmp.Diff(want, content(t, db)); diff != "" {
		t.Fatalf("database after %d crashes (-want +got):\n%s", crashes, diff)
	}
	t.Logf("%d processes crashed", crashes)
}

// version increases with every completed migration.
func (m Migrations) version(t *testing.T, db *sql.DB) (version int) {
	t.Helper()
	for _, s := range m {
		table := "goose_" + s.Service
		if s.Part != "" {
			table = "goose_" + s.Part + "_" + s.Service
		}
		var done int
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&done)
		if err != nil && !mysqldb.IsNoTable(err) {
			t.Fatal(err)
		}
		version += done
	}
	return version
}

// content returns, for each table of the database, the statement that creates it and its number of rows.
func content(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	content := Tables(t, db)
	for name := range content {
		var rows int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM `"+name+"`").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		content[name] += fmt.Sprintf(" -- %d rows", rows)
	}
	return content
}

// Tables returns, for each table of the database, the statement that creates it, without the version tables of
// migrations.
func Tables(t *testing.T, db *sql.DB) map[string]string {
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

// counter matches the next AUTO_INCREMENT value in the statement that creates a table. It is ignored, because a
// repeated INSERT IGNORE increases it.
var counter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

func createTable(t *testing.T, db *sql.DB, name string) string {
	t.Helper()
	var statement string
	if err := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE `"+name+"`").Scan(&name, &statement); err != nil {
		t.Fatal(err)
	}
	return counter.ReplaceAllString(statement, "")
}
