package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// ledgerASplitWhileSomeoneCalls splits the bill of a report with an attempt while the dialog is open. The attempt and
// the notice belong to the new bill, which the callout must name, and the call ends the attempt on both bills.
func ledgerASplitWhileSomeoneCalls(t *testing.T) {
	s := fresh(t, "7.9")
	execSQL(t, "UPDATE billing SET source = 'Insurance' WHERE id = ?", s.bill)
	execSQL(t, "INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, testAmount) VALUES (?, ?, 41, ?, 500)", s.bill+5, s.bill, s.test)
	s.saved(`"is_draft":true,"critical_callout_comment":"rang twice"`, "CALLOUT_ATTEMPTED")

	split := newBill(t, call(t, ledgerUser, "POST", fmt.Sprint(splitPath, s.bill), fmt.Sprintf(`{"test_ids":[%d]}`, s.bill)))
	if by, newest := s.attempts(split); by[s.report] != "rang twice" || newest != "rang twice" {
		t.Errorf("on the new bill: attempts %v, newest %q", by, newest)
	}
	if by, newest := s.attempts(s.bill); len(by) != 0 || newest != "" {
		t.Errorf("on the old bill: attempts %v, newest %q", by, newest)
	}
	const spoken = `"communication_methods":["call"],"read_back":true,"notified_person":"Dr Anand"`
	late := s.save(spoken)
	if data := fmt.Sprintf(`"details":"BILL_CHANGED","data":{"bill_id":%d,"lab_report_id":%d}`, split, s.report); late.status != http.StatusConflict || !strings.Contains(late.body, data) {
		t.Errorf("the callout on the old bill: %d %s, want 409 with %s", late.status, late.body, data)
	}
	for id, n := range inboxOf(t, drNorth) {
		data := n["message"].(map[string]any)["data"].(map[string]any)
		if data["lrr_id"] == float64(s.report) && data["bill_id"] != float64(split) {
			t.Errorf("notice %d names bill %v, want %d", id, data["bill_id"], split)
		}
	}

	old := s.bill
	s.bill = split
	s.called()
	s.want(isDone)
	if by, newest := s.attempts(split); len(by) != 0 || newest != "" {
		t.Errorf("after the call: attempts %v, newest %q", by, newest)
	}
	if n := count(t, fmt.Sprintf("SELECT COUNT(*) FROM CriticalCallout WHERE draft_bill_id IN (%d, %d)", old, split)); n != 0 {
		t.Errorf("%d drafts are left, want none", n)
	}
	if got := call(t, ledgerUser, "POST", fmt.Sprint(splitPath, split, "/merge"), ""); got.status != http.StatusOK {
		t.Errorf("undone: %d %s", got.status, got.body)
	}
	if late = s.save(spoken + `,"force":true`); late.status != http.StatusConflict || !strings.Contains(late.body, fmt.Sprintf(`"bill_id":%d`, old)) {
		t.Errorf("the callout on the undone bill: %d %s, want 409 with bill %d", late.status, late.body, old)
	}
}
