package outbox_test

import (
	"database/sql"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/migrationtest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestMigrations(t *testing.T) {
	t.Parallel()
	migrationtest.Run(t, migrationtest.Migrations{outbox.Schema("test")})
}

// The table as services of earlier releases made it.
const formerTable = `CREATE TABLE outbox_test (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  aggregate VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  kind VARCHAR(48) NOT NULL,
  payload MEDIUMBLOB NOT NULL,
  dedupe_key VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  created_at BIGINT NOT NULL,
  available_at BIGINT NOT NULL,
  attempts INT NOT NULL DEFAULT 0,
  last_error VARCHAR(512) NOT NULL DEFAULT '',
  UNIQUE KEY uq_outbox_dedupe (dedupe_key), KEYS
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci`

const formerKeys = "KEY ix_outbox_kind (kind, available_at, id), KEY ix_outbox_order (aggregate, available_at, id)"

func TestATableOfAnEarlierReleaseBecomesThePresentOneAndKeepsItsRows(t *testing.T) {
	t.Parallel()
	fresh := mysqltest.New(t)
	migrate(t, fresh)
	for name, statements := range map[string][]string{
		"the first release's":    {strings.Replace(formerTable, "KEYS", "KEY ix_outbox_available (available_at, id)", 1)},
		"with an index of kinds": {strings.Replace(formerTable, "KEYS", formerKeys, 1)},
		"with a trace": {
			strings.Replace(formerTable, "KEYS", formerKeys, 1),
			"ALTER TABLE outbox_test ADD COLUMN traceparent VARCHAR(55) NOT NULL DEFAULT ''",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := mysqltest.New(t)
			for _, statement := range append(statements, "INSERT INTO outbox_test (aggregate, kind, payload, created_at, available_at)"+
				" VALUES ('report:7', 'callout.evaluate', 'x', 1, 1)") {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			migrate(t, db)
			if diff := cmp.Diff(table(t, fresh), table(t, db)); diff != "" {
				t.Error(diff)
			}
			var rows int
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM outbox_test WHERE traceparent = ''").Scan(&rows); err != nil || rows != 1 {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}

func migrate(t *testing.T, db *sql.DB) {
	t.Helper()
	schemas := []mysqldb.Schema{outbox.Schema("test")}
	if err := mysqldb.Migrate(t.Context(), db, schemas, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
}

var counter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

func table(t *testing.T, db *sql.DB) string {
	t.Helper()
	var name, statement string
	if err := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE outbox_test").Scan(&name, &statement); err != nil {
		t.Fatal(err)
	}
	return counter.ReplaceAllString(statement, "")
}
