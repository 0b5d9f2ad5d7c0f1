package legacydb_test

import (
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestEveryStatementCreatesOneTable(t *testing.T) {
	t.Parallel()
	if got, want := len(legacydb.Tables()), len(legacydb.Statements()); got != want || got != 31 {
		t.Fatalf("tables = %d, statements = %d, want 31 of both", got, want)
	}
}

func TestCreateTwiceLeavesTheSameTables(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	for range 2 {
		if err := legacydb.Create(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	want := legacydb.Tables()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("tables = %v, want %v", got, want)
	}
}
