package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestExternalEditAConfirmedRerunWarnsOfAnOpenSession confirms a rerun with and without an editing session.
func TestExternalEditAConfirmedRerunWarnsOfAnOpenSession(t *testing.T) {
	t.Parallel()
	for _, editing := range []bool{false, true} {
		report, asha := editReport(t), editor(t, 12, "report_edit")
		rerun := fmt.Sprintf("/api-v3/sample-rerun/%d", report)
		if editing {
			openSession(t, asha, report, creation)
		}
		if got := call(t, asha, "POST", rerun+"/request",
			`{"type":"Manual","rerun_number":"1","requested_parameters":"[1]","is_active":true,"lab_id":12}`); got.status != 200 {
			t.Fatalf("request: %d %s", got.status, got.body)
		}
		got := call(t, asha, "POST", rerun+"/confirm",
			`{"rerun_confirmed_data":[{"profileTestId":0,"value":"13.4","order":1,"index":1}]}`)
		if got.status != 200 || strings.Contains(got.body, "warnings") != editing ||
			strings.Contains(got.body, "open in an external editor by Editor") != editing {
			t.Errorf("editing %t: %d %s", editing, got.status, got.body)
		}
	}
}
