package migrations_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/migrationtest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cellcounter/migrations"
)

func TestMigrations(t *testing.T) {
	t.Parallel()
	migrationtest.Run(t, migrations.Schemas())
}

// TestStoredNucleatedRedCellsAreSetApart migrates the mappings and a count of an installation of version 1.0.0.
// Nucleated red cells (cell 13) must be counted separately afterwards.
func TestStoredNucleatedRedCellsAreSetApart(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	const baseline = "00008_cellcounter.sql"
	text, err := migrations.Files.ReadFile(baseline)
	if err != nil {
		t.Fatal(err)
	}
	before := []mysqldb.Schema{{Service: "cellcounter", Files: fstest.MapFS{baseline: {Data: text}}}}
	migrate := func(schemas []mysqldb.Schema) {
		t.Helper()
		if err := mysqldb.Migrate(t.Context(), db, schemas, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	migrate(before)
	for _, statement := range []string{
		"INSERT INTO cell_counter_mappings (test_id, lab_id, `key`, cell_id, report_format_index, report_format_order, include_in_total," +
			" created_at, updated_at) VALUES (55, 12, 'n', 1, 1, 1, 1, 5, 5), (55, 12, 's', 2, 2, 2, 0, 5, 5), (55, 12, 'r', 13, 3, 3, 1, 5, 5)," +
			" (55, NULL, 'r', 13, 3, 3, 1, 5, 5)",
		"INSERT INTO cell_count (lab_id, lab_report_id, observer, test_id, counts, counted_by, counted_at) VALUES (12, 7001, 1, 55, '[]', 77, 5)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	migrate(migrations.Schemas())
	got, err := mysqldb.Collect(t.Context(), db, "SELECT CONCAT(lab_scope, ' ', `key`, ' ', include_in_total) FROM cell_counter_mappings"+
		" UNION ALL SELECT CONCAT('version ', version) FROM cell_count ORDER BY 1", nil,
		func(row mysqldb.Row, text *string) error { return row.Scan(text) })
	if want := "0 r 0, 12 n 1, 12 r 0, 12 s 0, version 1"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
}
