package migrations_test

import (
	"database/sql"
	_ "embed"
	"log/slog"
	"strings"
	"testing"

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

// shape returns all columns, indexes and checks in information_schema, one per line.
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
	if err := mysqldb.Migrate(t.Context(), ours, migrations.Schemas(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
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

// TestATableOfTheMigrationPhaseGetsThePerson migrates a user_meta of the migration phase that was not created by this
// service. It must get the columns of a person.
func TestATableOfTheMigrationPhaseGetsThePerson(t *testing.T) {
	t.Parallel()
	fresh, older := mysqltest.New(t), mysqltest.New(t)
	for _, db := range []*sql.DB{fresh, older} {
		if err := mysqldb.Migrate(t.Context(), db, migrations.Schemas(), slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		"ALTER TABLE user_meta DROP COLUMN full_name, DROP COLUMN contact, DROP COLUMN alternate_contact, DROP COLUMN email," +
			" DROP COLUMN gender, DROP COLUMN date_of_birth, DROP COLUMN age, DROP COLUMN passport_no," +
			" DROP COLUMN national_identity_number",
		"DROP TABLE goose_cdc",
	} {
		if _, err := older.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := mysqldb.Migrate(t.Context(), older, migrations.Schemas(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shape(t, fresh), shape(t, older)); diff != "" {
		t.Errorf("the migrated table differs from a new one (-new +migrated): %s", diff)
	}
}
