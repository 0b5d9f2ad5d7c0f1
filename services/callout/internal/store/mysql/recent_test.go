package mysql_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// TestChangedLimitsReachListsInSecondsAndDecisionsAtOnce: a list may show old limits for five seconds, an evaluation uses
// the new ones.
func TestChangedLimitsReachListsInSecondsAndDecisionsAtOnce(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db := newDatabase(t)
	s, err := mysql.New(db, clock, storetest.Pace)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	lab, list := storetest.Lab(t, 12), records.New(s)
	listed := func() int {
		t.Helper()
		found, err := list.List(t.Context(), lab, storetest.Bill, callout.Visibility{Rule: callout.Everything})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Records)
	}
	fixture := storetest.NewFixture(t, storetest.Backend{
		Reader: s, Callouts: mysql.Callouts{Store: s}, Evaluations: mysql.Evaluations{Store: s}, Escalations: mysql.Escalations{Store: s},
		Reaps: mysql.Reaps{Store: s}, Sweeps: mysql.Sweeps{Store: s},
	}, clock)
	evaluated := func() evaluate.Result {
		t.Helper()
		results, err := fixture.Evaluate.Reports(t.Context(), lab, []int64{storetest.Potassium}, evaluate.Named)
		if err != nil || len(results) != 1 {
			t.Fatal(results, err)
		}
		return results[0]
	}
	exec("INSERT INTO reportValues (labReportId_id, `index`, `order`, value) VALUES (7001, 2, 2, '6.0')") // critical above 6.5
	exec("UPDATE labReportRelation SET criticalValues = 4 WHERE id = 7001")
	if n := listed(); n != 0 {
		t.Fatalf("%d records", n)
	}
	exec("UPDATE ReportFormatRange SET criticalUpper = 5.5")
	clock.Move(4 * time.Second)
	if n := listed(); n != 0 {
		t.Fatalf("%d records by formats that were just read", n)
	}
	clock.Move(time.Second)
	if n := listed(); n != 1 {
		t.Fatalf("%d records after five seconds", n)
	}
	exec("UPDATE ReportFormatRange SET criticalUpper = 9")
	if got := evaluated(); got.Status != callout.Abnormal { // what lists still show as critical
		t.Fatalf("%+v", got)
	}
}
