package reportformat_test

import (
	"database/sql"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

// A range must be the same whether it is scanned into a Range, or into a Raw with a key.
func TestRangeAndRawReadTheSameBand(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	for _, values := range []string{
		`1, 'A', 0, 'D', NULL, 'Y', NULL, NULL, NULL, NULL, NULL, '"Blasts"', ''`,
		"1, 'M', 12, 'Y', NULL, 'Y', 13, 17, 7, 20, NULL, NULL, '13 - 17'",
		"1, 'f', 0, 'D', 28, 'D', NULL, NULL, NULL, 15.5, NULL, NULL, ''",
		`1, 'A', 0, 'D', 6, 'M', NULL, NULL, NULL, NULL, '["Nil"]', '["Blasts"]', 'Nil'`,
		`1, 'A', 0, 'D', 6, 'M', NULL, NULL, NULL, NULL, '{"not":"a list"}', NULL, ''`,
		"1, '', 0, '', NULL, '', 3.5, 5.1, 2.5, 6.5, NULL, NULL, ''",
	} {
		_, err := db.ExecContext(t.Context(), "INSERT INTO ReportFormatRange (reportFormatId_id, gender, ageFrom, ageFromUnit, ageTo, ageToUnit,"+
			" lowerBound, upperBound, criticalLower, criticalUpper, normalTexts, criticalTexts, displayRange) VALUES ("+values+")")
		if err != nil {
			t.Fatal(err)
		}
	}
	const query = "SELECT " + reportformat.RangeColumns + " FROM ReportFormatRange g ORDER BY g.id"
	read := func(scan func(*sql.Rows)) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			scan(rows)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	type band struct {
		Band clinical.Band
		OK   bool
	}
	var columns, raws []band
	keys := map[string]bool{}
	read(func(rows *sql.Rows) {
		var g reportformat.Range
		if err := rows.Scan(g.Targets()...); err != nil {
			t.Fatal(err)
		}
		b, ok := g.Band("numeric")
		columns = append(columns, band{b, ok})
	})
	read(func(rows *sql.Rows) {
		var r reportformat.Raw
		if err := rows.Scan(r.Targets()...); err != nil {
			t.Fatal(err)
		}
		g := r.Read()
		b, ok := g.Band("numeric")
		raws = append(raws, band{b, ok})
		keys[string(r.AppendKey(nil))] = true
	})
	if diff := cmp.Diff(columns, raws, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Fatalf("bands (-Range +Raw):\n%s", diff)
	}
	if len(columns) != 6 || len(keys) != 6 || !columns[0].OK {
		t.Fatalf("ranges = %d, keys = %d, want 6 each, the first valid: %+v", len(columns), len(keys), columns)
	}
	anyone, ok := clinical.Select([]clinical.Band{columns[5].Band}, clinical.Patient{Gender: "F", RecordedAge: "38 Y"})
	if !columns[5].OK || !ok || anyone.Reference.Assess(clinical.ParseValue("7.9")).Critical != clinical.High {
		t.Errorf("a range without gender and units = %+v, want one for every patient", columns[5])
	}
	if got := columns[0].Band.Reference.CriticalTexts; len(got) != 1 {
		t.Errorf("critical texts that are not a list = %q, want one that no result equals", got)
	}
	if got := columns[4].Band.Reference.CriticalTexts; got != nil {
		t.Errorf("critical texts of a range without any = %q, want none", got)
	}
}
