package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// openItem is a report in the list of open results.
type openItem struct {
	Report     int  `json:"lab_report_id"`
	NoticesOff bool `json:"notices_off"`
}

// waiting returns the report's entry in the list of open results.
func waiting(t *testing.T, report int) (found openItem, ok bool) {
	t.Helper()
	var list struct{ Open []openItem }
	if err := json.Unmarshal([]byte(call(t, labSession, "GET", "/operation/critical-callout/open", "").body), &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Open {
		if item.Report == report {
			return item, true
		}
	}
	return openItem{}, false
}

// TestCalloutOfWhatNobodyAskedToEvaluate is a scenario of failures with real processes. The core saves a critical
// potassium while callout is unavailable, and requests no evaluation; the result is called; the core writes its old
// copy of the row back; the potassium gets worse while the laboratory has its notifications switched off.
func TestCalloutOfWhatNobodyAskedToEvaluate(t *testing.T) {
	const bill, report = 977700, 977701
	begin := time.Now()
	note := func(what string) { t.Logf("%6.1f s  %s", time.Since(begin).Seconds(), what) }
	fast := map[string]string{"CALLOUT_SWEEP_INTERVAL": "1s", "CALLOUT_SWEEP_SETTLED": "1s"}
	t.Cleanup(func() {
		if err := stack.Stop("callout"); err != nil {
			t.Error(err)
		}
		startReached(t, "callout", nil)
	})
	if err := stack.Stop("callout"); err != nil {
		t.Fatal(err)
	}
	newCriticalBill(t, bill, 0, 3)
	applyFixture(t, fmt.Sprintf(`{"mysql":{"reportValues":[{"labReportId_id":%d,"index":1,"order":1,"value":"14"}]}}`, bill+2))
	note("callout is stopped; the core saves a potassium of 7.1")
	startReached(t, "callout", fast)
	awaitNotices(t, bill, 1, 0)
	if _, ok := waiting(t, report); !ok {
		t.Fatal("it does not wait")
	}
	note("callout is back: it found the potassium, announced it, and it waits")

	insist(t, fmt.Sprintf("/report/%d/critical/callout", bill), fmt.Sprintf(`{"lab_report_ids":[%d],"recipients":["a"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`, report))
	state := func() int {
		return count(t, fmt.Sprintf("SELECT criticalValues FROM labReportRelation WHERE id = %d", report))
	}
	execSQL(t, "UPDATE labReportRelation SET criticalValues = 0, updatedOn = NOW(6) WHERE id = ?", report)
	await.True(t, "what was called stays called", func() bool { return state() == 2 })
	if first, escalations := noticesOf(t, bill); first != 1 || escalations != 0 {
		t.Errorf("%d notices, %d escalations", first, escalations)
	}
	note("called; the core wrote its old row back, and it is CALLOUT_DONE again, announced once")

	switched := func(off bool) {
		t.Helper()
		body := fmt.Sprintf(`{"notification_types":[{"id":2,"is_disabled":%t}]}`, off)
		if got := call(t, "demo-admin", "POST", notificationsPath+"notification-type/bulk", body); got.status != http.StatusOK {
			t.Fatalf("got %d %s, want status 200", got.status, got.body)
		}
	}
	switched(true)
	defer switched(false)
	execSQL(t, "UPDATE reportValues SET value = '8.1' WHERE labReportId_id = ? AND `index` = 2", report)
	if got := evaluateBill(t, bill); got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	await.True(t, "the board reports that no one was told", func() bool {
		item, ok := waiting(t, report)
		return ok && item.NoticesOff
	})
	history := call(t, labSession, "GET", fmt.Sprint("/report/bulk/critical-notification/logs?report_ids=", report), "").body
	if !strings.Contains(history, "The notification was not sent") {
		t.Errorf("the history: %s", history)
	}
	metrics := callAt(t, adminURL("callout"), "", "GET", "/metrics", "").body
	if !strings.Contains(metrics, "callout_notices_off_total 1") {
		t.Error("no one counted it")
	}
	if first, _ := noticesOf(t, bill); first != 1 {
		t.Errorf("%d notices", first)
	}
	note("8.1 waits, with notifications switched off: the board, the history and a counter say that no one was told")
}
