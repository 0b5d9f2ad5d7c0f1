package migrations_test

import (
	"context"
	"database/sql"
	_ "embed"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/migrationtest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/migrations"
)

// The platform's agreed schema of these tables; other services read them.
//
//go:embed testdata/schema.sql
var agreed string

func TestMigrations(t *testing.T) {
	t.Parallel()
	migrationtest.Run(t, migrations.Schemas())
}

func migrate(t *testing.T, db *sql.DB, files fs.FS) {
	t.Helper()
	if err := mysqldb.Migrate(t.Context(), db, []mysqldb.Schema{{Service: "cdc", Files: files}}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
}

// shape returns everything that information_schema tells about columns, indexes and checks, line by line.
func shape(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var lines []string
	for _, query := range []string{
		`SELECT CONCAT_WS(' ', TABLE_NAME, ORDINAL_POSITION, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COALESCE(COLUMN_DEFAULT, '-'), COALESCE(COLLATION_NAME, '-'), EXTRA)
		 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'goose%' ORDER BY TABLE_NAME, ORDINAL_POSITION`,
		`SELECT CONCAT_WS(' ', TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE)
		 FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'goose%' ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX`,
		`SELECT CONCAT_WS(' ', t.TABLE_NAME, c.CHECK_CLAUSE) FROM information_schema.CHECK_CONSTRAINTS c
		 JOIN information_schema.TABLE_CONSTRAINTS t USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME) WHERE c.CONSTRAINT_SCHEMA = DATABASE() ORDER BY 1`,
	} {
		lines = append(lines, column(t, db, query)...)
	}
	return lines
}

func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestTheMigrationsMakeTheAgreedSchema(t *testing.T) {
	t.Parallel()
	ours, theirs := mysqltest.New(t), mysqltest.New(t)
	migrate(t, ours, migrations.Files)
	for statement := range strings.SplitSeq(agreed, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := theirs.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(shape(t, theirs), shape(t, ours)); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheFirstMigrationHasNoPerson(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	migrate(t, db, upTo(t, "00001_user_meta.sql"))
	for _, line := range shape(t, db) {
		if strings.Contains(line, "full_name") || strings.Contains(line, "contact") {
			t.Errorf("has %s", line)
		}
	}
	insert(t.Context(), t, db)
	migrate(t, db, migrations.Files)
	var name string
	var rev int64
	if err := db.QueryRowContext(t.Context(), "SELECT full_name, rev FROM user_meta WHERE user_id = 1").Scan(&name, &rev); err != nil {
		t.Fatal(err)
	}
	if name != "" || rev != 7 {
		t.Fatalf("the second migration changed the row: full_name %q, rev %d", name, rev)
	}
}

func insert(ctx context.Context, t *testing.T, db *sql.DB) {
	t.Helper()
	if _, err := db.ExecContext(ctx, "INSERT INTO user_meta (user_id, lab_id, rev) VALUES (1, 2, 7)"); err != nil {
		t.Fatal(err)
	}
}

func upTo(t *testing.T, name string) fs.FS {
	t.Helper()
	data, err := fs.ReadFile(migrations.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{name: {Data: data}}
}
