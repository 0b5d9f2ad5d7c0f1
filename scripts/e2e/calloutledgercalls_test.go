package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// second seeds another report on the same bill.
func (s story) second(value string) story {
	s.Helper()
	next := unseeded(s.T)
	next.patient, next.report = s.patient, s.report+1
	next.seed(value)
	execSQL(s.T, "UPDATE labReportRelation SET billId_id = ? WHERE id = ?", s.bill, next.report)
	next.bill = s.bill
	return next
}

// attempts returns the comments of the bill's attempts by report, and the comment of the newest attempt.
func (s story) attempts(bill int) (byReport map[int]string, newest string) {
	s.Helper()
	var records struct {
		Attempted struct {
			Comment  string `json:"critical_callout_comment"`
			Attempts []struct {
				Report  int    `json:"lab_report_id"`
				Comment string `json:"critical_callout_comment"`
			}
		} `json:"attempted_callout"`
	}
	got := call(s.T, ledgerUser, "GET", fmt.Sprintf("/report/%d/critical/records", bill), "")
	if err := json.Unmarshal([]byte(got.body), &records); err != nil {
		s.Fatalf("%v: %s", err, got.body)
	}
	byReport = map[int]string{}
	for _, a := range records.Attempted.Attempts {
		byReport[a.Report] = a.Comment
	}
	return byReport, records.Attempted.Comment
}

func ledgerAttemptsOfOneBill(t *testing.T) {
	first := fresh(t, "7.9")
	second := first.second("7.5")
	first.judge()
	first.saved(`"communication_methods":["call"],"notified_person":"Nurse Mary","critical_callout_comment":"heard it"`, "CALLOUT_ATTEMPTED")
	second.saved(`"is_draft":true,"critical_callout_comment":"no answer"`, "CALLOUT_ATTEMPTED")
	if by, newest := first.attempts(first.bill); by[first.report] != "heard it" || by[second.report] != "no answer" || newest != "no answer" {
		t.Errorf("attempts %v, newest %q", by, newest)
	}
	first.becomes("4.2")
	first.want(isNormal)
	first.inbox(drNorth, withdrawnTitle, correctedTitle)
	first.logged("corrected", map[string]any{"notified_persons": "[Nurse Mary]"})
	second.want(isAttempted)
	second.inbox(drNorth, noticeTitle)
	if by, _ := first.attempts(first.bill); by[second.report] != "no answer" || len(by) != 1 {
		t.Errorf("after the correction: attempts %v", by)
	}

	both := fresh(t, "7.9")
	other := both.second("7.5")
	both.judge()
	got := call(t, ledgerUser, "POST", fmt.Sprintf("/report/%d/critical/callout", both.bill), fmt.Sprintf(`{"is_draft":true,"lab_report_ids":[%d,%d],"critical_callout_comment":"both"}`, both.report, other.report))
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	both.called()
	other.want(isAttempted)
	if by, newest := both.attempts(both.bill); by[other.report] != "both" || newest != "both" {
		t.Errorf("after the call of one: attempts %v, newest %q", by, newest)
	}

	target := unseeded(t) // a split moves the report with the attempt
	target.patient = both.patient
	target.seed("4.1")
	execSQL(t, "UPDATE labReportRelation SET billId_id = ? WHERE id = ?", target.bill, other.report)
	if by, newest := both.attempts(target.bill); by[other.report] != "both" || newest != "both" {
		t.Errorf("on the new bill: attempts %v, newest %q", by, newest)
	}
	if by, _ := both.attempts(both.bill); len(by) != 0 {
		t.Errorf("on the old bill: attempts %v", by)
	}
}

func ledgerAnotherAudience(t *testing.T) {
	s := fresh(t, "7.9")
	s.called()
	s.toSouth()
	s.becomes("4.2")
	for _, session := range []string{drNorth, inNorth} {
		s.inbox(session, withdrawnTitle, correctedTitle)
	}
	for _, session := range []string{drSouth, inSouth} {
		s.inbox(session, correctedTitle)
	}
	s.once()

	paid := fresh(t, "7.9") // the bill has no organization and another doctor now
	execSQL(t, "UPDATE billing SET orgId_id = NULL WHERE id = ?", paid.bill)
	paid.called()
	execSQL(t, "UPDATE billing SET docId_id = 4192 WHERE id = ?", paid.bill)
	paid.becomes("4.2")
	paid.inbox(drNorth, withdrawnTitle, correctedTitle)
	paid.inbox(drSouth, correctedTitle)

	same := fresh(t, "7.9") // the doctor stays the same
	same.called()
	execSQL(t, "UPDATE billing SET orgId_id = 4146 WHERE id = ?", same.bill)
	same.becomes("4.2")
	same.inbox(drNorth, withdrawnTitle, correctedTitle)
	same.inbox(inNorth, withdrawnTitle, correctedTitle)
	same.inbox(inSouth, correctedTitle)

	bill := fresh(t, "4.1")
	execSQL(t, "UPDATE billing SET orgId_id = 4146, docId_id = 4192 WHERE id = ?", bill.bill)
	bill.becomes("7.9")
	bill.inbox(drSouth, noticeTitle)
	bill.inbox(inSouth, noticeTitle)
	bill.inbox(inNorth)
	if org := bill.opened().Org; org != "South Clinic" {
		t.Errorf("the board names %q", org)
	}
}

// once expects exactly one correction that is sent to the laboratory's devices.
func (s story) once() {
	s.Helper()
	loud := count(s.T, fmt.Sprintf("SELECT COUNT(*) FROM Notifications WHERE lab_id = 41 AND JSON_VALUE(context, '$.lrr_id') = %d AND"+
		" JSON_CONTAINS(context, 'true', '$.corrected') AND NOT IFNULL(JSON_CONTAINS(context, 'false', '$.laboratory'), 0)", s.report))
	if loud != 1 {
		s.Errorf("the laboratory's devices are told %d times of the correction", loud)
	}
}

func ledgerMethodsAndNames(t *testing.T) {
	s := fresh(t, "7.9")
	for _, method := range []string{"Telephonic", "Phoned", "mobile", "ring", "intercom", "landline", "फ़ोन", "Telefon", "bedside", "spoke to", "WhatsApp call", "video-call"} {
		s.refused(http.StatusBadRequest, fmt.Sprintf(`"communication_methods":[%q]`, method))
	}
	for _, name := range []string{"\u200b", "-", ".", "A"} {
		s.refused(http.StatusBadRequest, fmt.Sprintf(`"communication_methods":["call"],"read_back":true,"notified_person":%q`, name))
	}
	s.want(isPending)
	s.saved(`"communication_methods":["Telephonic"],"notified_person":"डॉ आनंद"`, "CALLOUT_ATTEMPTED")
	s.saved(`"communication_methods":["SMS"]`, "CALLOUT_DONE")
}

func ledgerNamesOfTheCall(t *testing.T) {
	s := fresh(t, "7.9")
	s.called()
	audit := func() string {
		return call(t, ledgerUser, "POST", "/operation/critical-callout", fmt.Sprintf(`{"lab_report_ids":[%d]}`, s.report)).body
	}
	names := fmt.Sprintf(`"org_name":"North Hospital","patient_name":"Meena %d","referral_name":"Dr Anand"`, s.patient)
	execSQL(t, "UPDATE userDetails SET fullName = 'Other Name' WHERE id = ?", s.patient)
	execSQL(t, "UPDATE doctorDetails SET docFullName = 'Dr Other' WHERE id = 4191")
	defer execSQL(t, "UPDATE doctorDetails SET docFullName = 'Dr Anand' WHERE id = 4191")
	if got := audit(); !strings.Contains(got, names) {
		t.Errorf("after other names: %s", got)
	}
	execSQL(t, "DELETE FROM userDetails WHERE id = ?", s.patient)
	if got := audit(); !strings.Contains(got, names) {
		t.Errorf("after the record was deleted: %s", got)
	}
}

func ledgerTestWithoutDepartment(t *testing.T) {
	s := unseeded(t)
	s.test = ledgerNoDepartment
	s.seed("7.9")
	s.judge()
	s.want(isPending)
	s.onBoard("open")
	if got := call(t, ledgerUser, "GET", fmt.Sprintf("/report/%d/critical/records", s.bill), "").body; !strings.Contains(got, fmt.Sprintf(`"labReportId":%d`, s.report)) {
		t.Errorf("records: %s", got)
	}
	s.called()
	before := boardOf(t, ledgerUser).Elsewhere
	hidden := unseeded(t)
	hidden.test = ledgerForeignDepartment
	hidden.seed("7.9")
	hidden.judge()
	hidden.onBoard()
	if got := boardOf(t, ledgerUser).Elsewhere; got != before+1 {
		t.Errorf("%d wait elsewhere, want %d", got, before+1)
	}
	if got := call(t, ledgerUser, "GET", "/operation/critical-callout/summary", "").body; !strings.Contains(got, fmt.Sprintf(`"elsewhere":%d`, before+1)) {
		t.Errorf("summary: %s", got)
	}
	hidden.refused(http.StatusBadRequest, `"communication_methods":["call"],"read_back":true,"notified_person":"Dr Anand"`)
}

// elsewhere completes the report as another program would, with another form of JSON.
func (s story) elsewhere() {
	s.Helper()
	execSQL(s.T, "INSERT INTO CriticalCallout (lab_id, bill_id, lab_report_id, org_id, referral_doc_id, user_details_id, critical_values_meta,"+
		" critical_callout_meta, created_on) VALUES (41, ?, ?, 4145, 4191, ?, '[1]', '{}', NOW(6))", s.bill, s.report, s.patient)
	execSQL(s.T, "UPDATE labReportRelation SET criticalValues = 2, updatedOn = NOW(6) WHERE id = ?", s.report)
}

func ledgerAnotherProgramCalls(t *testing.T) {
	s := unseeded(t)
	s.seed("7.9")
	s.elsewhere()
	for range 2 {
		s.judge()
		s.want(isDone)
	}
	s.inbox(drNorth)

	waits := fresh(t, "7.9")
	waits.delivered()
	waits.elsewhere()
	waits.judge()
	waits.want(isDone)
	waits.onBoard()
	waits.judge()
	waits.want(isDone)
	waits.inbox(drNorth, noticeTitle)
	waits.becomes("4.2")
	waits.inbox(drNorth, withdrawnTitle, correctedTitle)
}
