package mysql_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// TestChangedLimitsReachListsInSecondsAndDecisionsAtOnce checks that a list uses previous limits for at most five
// seconds, and that an evaluation uses the new ones at once.
func TestChangedLimitsReachListsInSecondsAndDecisionsAtOnce(t *testing.T) {
	t.Parallel()
	fixture := storetest.New(t)
	clock, exec := fixture.Clock, func(statement string) { fixture.Exec(statement) }
	lab, list := storetest.Lab(t, 12), fixture.List
	listed := func() int {
		t.Helper()
		found, err := list.List(t.Context(), lab, storetest.Bill, callout.Visibility{Rule: callout.Everything})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Records)
	}
	evaluated := func() evaluate.Result {
		t.Helper()
		results, err := fixture.Evaluate.Reports(t.Context(), lab, []int64{storetest.Potassium}, callout.Event{Named: true})
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
	clock.Advance(4 * time.Second)
	if n := listed(); n != 0 {
		t.Fatalf("%d records by kept formats", n)
	}
	clock.Advance(time.Second)
	if n := listed(); n != 1 {
		t.Fatalf("%d records after five seconds", n)
	}
	exec("UPDATE ReportFormatRange SET criticalUpper = 9")
	if got := evaluated(); got.Status != callout.Abnormal { // although lists still show the value as critical
		t.Fatalf("%+v", got)
	}
}
