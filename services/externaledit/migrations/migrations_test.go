package migrations_test

import (
	"database/sql"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/externaledit/migrations"
)

func migrate(t *testing.T, db *sql.DB) {
	t.Helper()
	if err := mysqldb.Migrate(t.Context(), db, "externaledit", migrations.Files,
		slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
}

func createTable(t *testing.T, db *sql.DB, name string) string {
	t.Helper()
	var statement string
	if err := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+name).Scan(&name, &statement); err != nil {
		t.Fatal(err)
	}
	return statement
}

func TestTheOutboxIsTheOneThatTheRelayNeeds(t *testing.T) {
	t.Parallel()
	migrated, fresh := mysqltest.New(t), mysqltest.New(t)
	migrate(t, migrated)
	table, err := outbox.NewTable("outbox_externaledit")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.ExecContext(t.Context(), table.DDL()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(createTable(t, fresh, table.Name()), createTable(t, migrated, table.Name())); diff != "" {
		t.Fatal(diff)
	}
}

func TestAMigrationThatDiedBeforeItsNoteRunsAgain(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	migrate(t, db)
	want := createTable(t, db, "outbox_externaledit")
	if _, err := db.ExecContext(t.Context(), "DELETE FROM goose_externaledit WHERE version_id > 0"); err != nil {
		t.Fatal(err)
	}
	migrate(t, db)
	if diff := cmp.Diff(want, createTable(t, db, "outbox_externaledit")); diff != "" {
		t.Fatal(diff)
	}
}
