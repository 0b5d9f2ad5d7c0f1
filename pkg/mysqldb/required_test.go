package mysqldb_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestIndexIsMissingIfNoneStartsWithItsColumns(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: got error %v, want none", statement, err)
		}
	}
	exec("CREATE TABLE report (id INT PRIMARY KEY, lab INT, bill INT, flag INT, KEY a (lab, bill, flag), KEY b (flag))")
	wanted := []mysqldb.Index{
		{Table: "report", Columns: []string{"lab", "bill"}, For: "the board"},
		{Table: "report", Columns: []string{"bill"}, For: "a split"},
		{Table: "report", Columns: []string{"flag", "id"}, For: "the sweeper"},
		{Table: "bill", Columns: []string{"patient"}, For: "the resync"},
	}
	missing := func() string {
		t.Helper()
		got, err := mysqldb.MissingIndexes(t.Context(), db, wanted)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(got, "\n")
	}
	want := "a split reads all of report without this index: CREATE INDEX `ix_bill` ON `report` (`bill`)\n" +
		"the sweeper reads all of report without this index: CREATE INDEX `ix_flag_id` ON `report` (`flag`, `id`)\n" +
		"the resync reads all of bill without this index: CREATE INDEX `ix_patient` ON `bill` (`patient`)"
	if got := missing(); got != want {
		t.Errorf("MissingIndexes = %s\nwant %s", got, want)
	}
	for line := range strings.SplitSeq(missing(), "\n") {
		_, statement, _ := strings.Cut(line, ": ")
		if strings.Contains(statement, "report") {
			exec(statement)
		}
	}
	if got := missing(); strings.Contains(got, "report") {
		t.Errorf("missing after the statements: %s, want none of report", got)
	}
}
