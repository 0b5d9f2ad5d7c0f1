package outbox_test

import (
	"database/sql"
	"log/slog"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/migrationtest"
)

func TestMigrations(t *testing.T) {
	t.Parallel()
	migrationtest.Run(t, migrationtest.Migrations{outbox.Schema("test")})
}

func migrate(t *testing.T, db *sql.DB) {
	t.Helper()
	schemas := []mysqldb.Schema{outbox.Schema("test")}
	if err := mysqldb.Migrate(t.Context(), db, schemas, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
}
