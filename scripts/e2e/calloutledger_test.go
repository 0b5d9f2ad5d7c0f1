package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// A laboratory of its own, so that its settings, ranges and board are no other test's. Potassium (index 2 of ledgerTest) is critical
// below 2.5 and above 6.5; bilirubin is critical for newborns alone; a culture has texts.
const (
	ledgerTest, ledgerBilirubin, ledgerCulture, ledgerOtherTest = 4166, 4161, 4168, 4167
	ledgerNoDepartment, ledgerForeignDepartment                 = 4198, 4199
	ledgerUser, ledgerAdmin                                     = "ledger-user", "ledger-admin"
	inNorth, inSouth, drNorth, drSouth                          = "ledger-north", "ledger-south", "ledger-dr-north", "ledger-dr-south"
	noticeTitle, correctedTitle                                 = "Critical report", "A critical result was corrected"
	overdueTitle, unclearTitle                                  = "Critical result waits for a call", "A value may be critical"
	withdrawnTitle                                              = "Withdrawn: " + noticeTitle // of an unread one
	unconfirmedTitle                                            = "A critical rerun value waits"
)

func seedLedgerLab(t *testing.T) {
	t.Helper()
	rangeOf := func(id, format int, from, to, low, high, criticalLow, criticalHigh string) string {
		return fmt.Sprintf(`{"id":%d,"reportFormatId_id":%d,"gender":"A","ageFrom":%s,"ageFromUnit":"D","ageTo":%s,"ageToUnit":"D","lowerBound":%s,"upperBound":%s,"criticalLower":%s,"criticalUpper":%s}`,
			id, format, from, to, low, high, criticalLow, criticalHigh)
	}
	potassium := func(id, test int) string {
		return fmt.Sprintf(`{"id":%d,"testId_id":%d,"index":2,"order":2,"parameterName":"Potassium","unit":"mmol/L","valueType":"numeric","meta":{"manual_rerun":true}}`, id, test)
	}
	tests := []string{}
	for test, department := range map[int]string{ledgerTest: "415", ledgerBilirubin: "415", ledgerCulture: "415", ledgerOtherTest: "415", ledgerNoDepartment: "null", ledgerForeignDepartment: "416"} {
		tests = append(tests, fmt.Sprintf(`{"id":%d,"labId_id":41,"testName":"Test %[1]d","departmentId_id":%s}`, test, department))
	}
	applyFixture(t, `{"mysql":{
		"labs":[{"id":41,"labName":"Ledger Diagnostics","timezone":"Asia/Kolkata"}],
		"department":[{"id":415,"labId_id":41,"departmentName":"Biochemistry"},{"id":416,"labId_id":41,"departmentName":"Send-out"}],
		"organization":[{"id":4145,"labId_id":41,"orgFullName":"North Hospital"},{"id":4146,"labId_id":41,"orgFullName":"South Clinic"}],
		"doctorDetails":[{"id":4191,"labId_id":41,"docFullName":"Dr Anand","docType":2},{"id":4192,"labId_id":41,"docFullName":"Dr Bose","docType":2}],
		"labUser":[{"id":4177,"labId_id":41,"username":"ledger","fullName":"Ira Sen","departmentDataType":0,"isAdmin":0},{"id":4179,"labId_id":41,"username":"ledgeradmin","fullName":"Om Das","departmentDataType":0,"isAdmin":1}],
		"AllTests":[`+strings.Join(tests, ",")+`],
		"ReportFormat":[`+strings.Join([]string{
		potassium(41662, ledgerTest), potassium(41672, ledgerOtherTest), potassium(41902, ledgerNoDepartment), potassium(41912, ledgerForeignDepartment),
		`{"id":41661,"testId_id":4166,"index":1,"order":1,"parameterName":"Sodium","unit":"mmol/L","valueType":"numeric"}`,
		`{"id":41611,"testId_id":4161,"index":2,"order":2,"parameterName":"Bilirubin","unit":"mg/dL","valueType":"numeric"}`,
		`{"id":41681,"testId_id":4168,"index":2,"order":2,"parameterName":"Culture","valueType":"text"}`}, ",")+`],
		"ReportFormatRange":[`+strings.Join([]string{
		rangeOf(416620, 41662, "0", "null", "3.5", "5.1", "2.5", "6.5"), rangeOf(416720, 41672, "0", "null", "3.5", "5.1", "2.5", "6.5"),
		rangeOf(419020, 41902, "0", "null", "3.5", "5.1", "2.5", "6.5"), rangeOf(419120, 41912, "0", "null", "3.5", "5.1", "2.5", "6.5"),
		rangeOf(416610, 41661, "0", "null", "135", "145", "120", "160"),
		rangeOf(416110, 41611, "0", "14", "0.3", "12", "null", "15"), rangeOf(416111, 41611, "14", "null", "0.3", "25", "null", "null"),
		`{"id":416810,"reportFormatId_id":41681,"gender":"A","normalTexts":["No growth"],"criticalTexts":["Positive"]}`}, ",")+`]},
		"sessions":[{"id":"ledger-user","session_type":"lab_user","lab_id":41,"lab_user_id":4177,"full_name":"Ira Sen","department_data_type":0,"department_ids":[415],"permissions":["report_edit"]},
		{"id":"ledger-admin","session_type":"lab_user","lab_id":41,"lab_user_id":4179,"full_name":"Om Das","department_ids":[415],"permissions":["report_edit"],"is_global_admin":true},
		{"id":"ledger-north","session_type":"organization","lab_id":41,"org_id":4145,"full_name":"North Hospital"},
		{"id":"ledger-south","session_type":"organization","lab_id":41,"org_id":4146,"full_name":"South Clinic"},
		{"id":"ledger-dr-north","session_type":"doctor","lab_id":41,"doctor_id":4191,"doc_type":2,"full_name":"Dr Anand"},
		{"id":"ledger-dr-south","session_type":"doctor","lab_id":41,"doctor_id":4192,"doc_type":2,"full_name":"Dr Bose"}]}`)
}

// story is one report of a finding: a patient, a bill of the north hospital, and a report of ledgerTest.
type story struct {
	*testing.T
	patient, bill, report, test int
}

// stories count the reports of a finding, from which their numbers follow.
var ledgerStories int

// fresh seeds a report with a value of a patient of its own and has it evaluated.
func fresh(t *testing.T, value string) story {
	t.Helper()
	s := judged(t, value)
	s.delivered() // a call that comes first would stop the notice
	return s
}

// judged returns a report whose notice may still be in the outbox.
func judged(t *testing.T, value string) story {
	t.Helper()
	s := unseeded(t)
	s.seed(value)
	s.judge()
	return s
}

func unseeded(t *testing.T) story {
	ledgerStories++
	n := 41_000_000 + 10*ledgerStories
	return story{t, n, n, n + 1, ledgerTest}
}

// seed writes the rows as the core does.
func (s story) seed(value string) {
	s.Helper()
	applyFixture(s.T, fmt.Sprintf(`{"mysql":{
		"userDetails":[{"id":%[1]d,"labId_id":41,"orgId_id":4145,"labPatientId":"LED-%[1]d","fullName":"Meena %[1]d","gender":"Female","dateOfBirth":"1984-02-11"}],
		"billing":[{"id":%[2]d,"labId_id":41,"labBillId":%[2]d,"orderNumber":"LED-%[2]d","userDetailsId_id":%[1]d,"orgId_id":4145,"docId_id":4191,"source":"Org Pay","billTotalAmount":"500"}],
		"billingInfo":[{"id":%[2]d,"billId_id":%[2]d,"labId_id":41,"testId_id":%[4]d}]}}`, s.patient, s.bill, s.report, s.test))
	execSQL(s.T, "INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id, docForId_id, orgId_id,"+
		" sampleId, sampleCollected, sampleCollectionTime) VALUES (?, 41, ?, ?, ?, ?, 4191, 4145, ?, 1, NOW())",
		s.report, s.bill, s.bill, s.patient, s.test, fmt.Sprint("LED-", s.report))
	execSQL(s.T, "INSERT INTO reportValues (labReportId_id, reportForId_id, `index`, `order`, parameter_name, value) VALUES (?, ?, 2, 2, ?, ?)",
		s.report, s.report, map[int]string{ledgerTest: "Potassium", ledgerOtherTest: "Potassium", ledgerBilirubin: "Bilirubin", ledgerCulture: "Culture"}[s.test], value)
}

// of seeds another report of the same patient, and has it evaluated.
func (s story) again(value string) story {
	s.Helper()
	next := unseeded(s.T)
	next.patient = s.patient
	next.seed(value)
	next.judge()
	return next
}

// value changes the value as a save of the core does, without an evaluation.
func (s story) value(value string) {
	s.Helper()
	execSQL(s.T, "UPDATE reportValues SET value = ? WHERE labReportId_id = ? AND `index` = 2", value, s.report)
	execSQL(s.T, "UPDATE labReportRelation SET updatedOn = NOW(6) WHERE id = ?", s.report)
}

// becomes changes the value and has the report evaluated.
func (s story) becomes(value string) {
	s.Helper()
	s.value(value)
	s.judge()
}

func (s story) judge() { s.judgeBill(s.bill) }

func (s story) judgeBill(bill int) {
	s.Helper()
	got := callAt(s.T, stack.Endpoints.GatewayInternal, "", "POST", fmt.Sprintf("/report/%d/critical/evaluate", bill), `{"lab_id":41}`,
		"Authorization", "Bearer "+internalToken(s.T), "X-Is-Internal-Request", "True")
	if got.status != http.StatusOK {
		s.Fatalf("evaluate: %d %s", got.status, got.body)
	}
}

// toSouth moves the report and its bill to the south clinic.
func (s story) toSouth() {
	s.Helper()
	execSQL(s.T, "UPDATE billing SET orgId_id = 4146, docId_id = 4192 WHERE id = ?", s.bill)
	execSQL(s.T, "UPDATE labReportRelation SET orgId_id = 4146, docForId_id = 4192 WHERE id = ?", s.report)
}

// save posts a callout about the report; fields are added to the body.
func (s story) save(fields string) answer {
	s.Helper()
	return call(s.T, ledgerUser, "POST", fmt.Sprintf("/report/%d/critical/callout", s.bill), fmt.Sprintf(`{"lab_report_ids":[%d],"recipients":["Referral Doctor"],%s}`, s.report, fields))
}

func (s story) called() {
	s.Helper()
	s.saved(`"communication_methods":["call"],"read_back":true,"notified_person":"Dr Anand"`, "CALLOUT_DONE")
}

func (s story) saved(fields, want string) {
	s.Helper()
	if got := s.save(fields); got.status != http.StatusOK || !strings.Contains(got.body, want) {
		s.Fatalf("callout: %d %s, want %s", got.status, got.body, want)
	}
}

func (s story) refused(status int, fields string) {
	s.Helper()
	if got := s.save(fields); got.status != status {
		s.Errorf("callout with %s: %d %s, want %d", fields, got.status, got.body, status)
	}
}

// state returns the state that the report's row has.
func (s story) state() int {
	return count(s.T, fmt.Sprintf("SELECT criticalValues FROM labReportRelation WHERE id = %d", s.report))
}

const isNormal, isPending, isDone, isAbnormal, isAttempted = 0, 1, 2, 3, 4

func (s story) want(state int) {
	s.Helper()
	if got := s.state(); got != state {
		s.Errorf("report %d has state %d, want %d; history: %v", s.report, got, state, s.logs())
	}
}

func (s story) awaits(what string, state int) {
	s.Helper()
	await.Nil(s.T, what, func() error {
		if got := s.state(); got != state {
			return fmt.Errorf("state %d, want %d; history: %v", got, state, s.logs())
		}
		return nil
	})
}

// logs returns the history, the oldest first.
func (s story) logs() (texts []string) {
	s.Helper()
	for _, e := range s.entries() {
		texts = append(texts, e.Text)
	}
	return texts
}

func (s story) entries() []logEntry {
	s.Helper()
	var history struct{ Logs []logEntry }
	got := call(s.T, ledgerUser, "GET", fmt.Sprint("/report/bulk/critical-notification/logs?report_ids=", s.report), "")
	if err := json.Unmarshal([]byte(got.body), &history); err != nil {
		s.Fatalf("%v: %s", err, got.body)
	}
	return history.Logs
}

// logged wants an entry of the history with a part of its text and the fields in its meta.
func (s story) logged(part string, meta map[string]any) {
	s.Helper()
	for _, e := range s.entries() {
		same := strings.Contains(e.Text, part)
		for key, value := range meta {
			same = same && fmt.Sprint(e.Meta[key]) == fmt.Sprint(value)
		}
		if same {
			return
		}
	}
	s.Errorf("report %d: the history has no entry %q with %v: %v", s.report, part, meta, s.entries())
}

// delivered waits until every message about the bill is delivered.
func (s story) delivered() {
	s.Helper()
	await.True(s.T, "the messages are delivered", func() bool {
		return count(s.T, fmt.Sprintf("SELECT COUNT(*) FROM outbox_callout WHERE aggregate = 'bill:%d'", s.bill)) == 0
	})
}

// inbox wants the titles of a login's notifications about the report, the oldest first.
func (s story) inbox(session string, titles ...string) {
	s.Helper()
	s.delivered()
	if got := s.titles(session); !slices.Equal(got, titles) {
		s.Errorf("report %d: the inbox of %s has %q, want %q", s.report, session, got, titles)
	}
}

func (s story) titles(session string) (titles []string) {
	s.Helper()
	inbox := inboxOf(s.T, session)
	ids := []int{}
	for id, n := range inbox {
		if data := n["message"].(map[string]any)["data"].(map[string]any); data["lrr_id"] == float64(s.report) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		titles = append(titles, inbox[id]["message"].(map[string]any)["title"].(string))
	}
	return titles
}

// reads has a login read everything about the report.
func (s story) reads(session string) {
	s.Helper()
	s.delivered()
	for id, n := range inboxOf(s.T, session) {
		if data := n["message"].(map[string]any)["data"].(map[string]any); data["lrr_id"] == float64(s.report) {
			if got := call(s.T, session, "POST", fmt.Sprintf("%snotification/%d/read", notificationsPath, id), ""); got.status != http.StatusOK {
				s.Fatalf("read: %d %s", got.status, got.body)
			}
		}
	}
}

// boardEntry is a report on any list of the board.
type boardEntry struct {
	Report      int      `json:"lab_report_id"`
	Org         string   `json:"org_name"`
	DueAt       *string  `json:"due_at"`
	RemindAt    *string  `json:"next_reminder_at"`
	CalledAt    *string  `json:"called_at"`
	Escalations int      `json:"escalations"`
	NoticesOff  bool     `json:"notices_off"`
	NoticeSent  bool     `json:"notice_sent"`
	Persons     []string `json:"notified_persons"`
	RawValue    string   `json:"raw_value"`
	Critical    []struct {
		Raw string `json:"raw_value"`
	} `json:"critical_parameters"`
}

// ledgerBoard is the board as a login sees it.
type ledgerBoard struct {
	Open, Unclear, Corrected, Unconfirmed []boardEntry
	Elsewhere                             int
	Off                                   *struct{ Reason, Since string } `json:"notices_unavailable"`
}

func boardOf(t *testing.T, session string) (b ledgerBoard) {
	t.Helper()
	got := call(t, session, "GET", "/operation/critical-callout/open", "")
	if err := json.Unmarshal([]byte(got.body), &b); err != nil || got.status != http.StatusOK {
		t.Fatalf("open: %d %v %s", got.status, err, got.body)
	}
	return b
}

func (s story) find(list []boardEntry) *boardEntry {
	for i := range list {
		if list[i].Report == s.report {
			return &list[i]
		}
	}
	return nil
}

// onBoard wants the report on these lists of the board, and on no other.
func (s story) onBoard(lists ...string) {
	s.Helper()
	b := boardOf(s.T, ledgerUser)
	for name, list := range map[string][]boardEntry{"open": b.Open, "unclear": b.Unclear, "corrected": b.Corrected, "unconfirmed": b.Unconfirmed} {
		if found, want := s.find(list) != nil, slices.Contains(lists, name); found != want {
			s.Errorf("report %d on the board among %s: %v, want %v", s.report, name, found, want)
		}
	}
}

// opened returns the report as it waits on the board.
func (s story) opened() boardEntry {
	s.Helper()
	if e := s.find(boardOf(s.T, ledgerUser).Open); e != nil {
		return *e
	}
	s.Fatalf("report %d does not wait on the board; history: %v", s.report, s.logs())
	return boardEntry{}
}

// older makes everything that is known of the report older.
func (s story) older(minutes int) {
	s.Helper()
	ms := minutes * 60_000
	execSQL(s.T, "UPDATE callout_episode SET detected_at = detected_at - ?, due_at = due_at - ?, remind_at = remind_at - ? WHERE lab_report_id = ?", ms, ms, ms, s.report)
	execSQL(s.T, "UPDATE callout_statement SET said_at = said_at - ?, told_at = told_at - ? WHERE lab_report_id = ?", ms*1000, ms*1000, s.report)
	execSQL(s.T, "UPDATE reportValues SET updated_at = updated_at - INTERVAL ? MINUTE WHERE labReportId_id = ?", minutes, s.report)
	execSQL(s.T, "UPDATE callout_unconfirmed SET received_at = received_at - ? WHERE lab_report_id = ?", ms*1000, s.report)
}

// ledgerSettings changes the laboratory's settings, and returns the function that resets them.
func ledgerSettings(t *testing.T, body string) (reset func()) {
	t.Helper()
	put := func(body string) {
		if got := call(t, ledgerAdmin, "PUT", "/operation/critical-callout/settings", body); got.status != http.StatusOK {
			t.Fatalf("settings: %d %s", got.status, got.body)
		}
	}
	put(body)
	return func() { put(`{}`) }
}

// rerun asks for another measurement of potassium.
func (s story) rerun(action, body string) {
	s.Helper()
	path := fmt.Sprintf("/api-v3/sample-rerun/%d/%s", s.report, action)
	if got := call(s.T, ledgerUser, "POST", path, body); got.status != http.StatusOK {
		s.Fatalf("%s: %d %s", path, got.status, got.body)
	}
}

func (s story) requestRerun() {
	s.Helper()
	s.rerun("request", `{"type":"Manual","requested_parameters":"[2]","is_active":true,"lab_id":41}`)
}

func (s story) measured(value string) {
	s.Helper()
	s.rerun("new", fmt.Sprintf(`{"lab_id":41,"sample_id":"LED-%d","device_id":"AU-1","device_name":"AU480","rerun_type":"manual_rerun","rerun_number":1,"lab_report_id":%[1]d,"device_data":[{"index":2,"value":%q}]}`, s.report, value))
}

func (s story) confirmed(value string) {
	s.Helper()
	s.rerun("confirm", fmt.Sprintf(`{"rerun_confirmed_data":[{"index":2,"order":2,"value":%q,"parameter_name":"Potassium"}]}`, value))
}

// TestCalloutLedger plays each finding of the review of callouts through the real gateway; values, patients, bills and formats are
// changed in the database, as the programs do that own them. Waits are shortened by making rows older.
func TestCalloutLedger(t *testing.T) {
	replaceUntilTheEnd(t, "callout", "CALLOUT_SWEEP_INTERVAL", "1s", "CALLOUT_SWEEP_SETTLED", "1s", "CALLOUT_REAP_INTERVAL", "1s")
	seedLedgerLab(t)
	for _, finding := range []struct {
		name string
		play func(*testing.T)
	}{
		{"B9 no one can be notified", ledgerB9},
		{"A1 a corrected value returns", ledgerA1}, {"A2 a suppressed call", ledgerA2}, {"A3 a text on no list", ledgerA3},
		{"A4 another patient's result", ledgerA4}, {"A5 inputs beside the report", ledgerA5}, {"A6 limits and formats change", ledgerA6},
		{"A8 another value than was said", ledgerA8},
		{"B1 attempts of one bill", ledgerB1}, {"B2 another audience", ledgerB2}, {"B3 an age that is not known", ledgerB3},
		{"B4 a notice that was read", ledgerB4}, {"B5 a value that becomes unreadable", ledgerB5}, {"B6 methods and names", ledgerB6},
		{"B8 worse after the last escalation", ledgerB8}, {"B10 an unconfirmed rerun value", ledgerB10}, {"B11 a shorter deadline", ledgerB11},
		{"B13 names of the call", ledgerB13}, {"B14 delayed notices", ledgerB14}, {"B15 notifications are unavailable", ledgerB15},
		{"B16 a test without department", ledgerB16}, {"B17 another program calls", ledgerB17}, {"B18 reminders", ledgerB18},
		{"C1 an equal number", ledgerC1}, {"M6 an unclear value is announced", ledgerM6},
	} {
		t.Run(finding.name, finding.play)
	}
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1 WHERE labId_id = 41") // no deadline comes during another test
	await.True(t, "no report waits and no message is left", func() bool {
		return count(t, "SELECT COUNT(*) FROM callout_episode WHERE lab_id = 41 AND open_report_id IS NOT NULL")+
			count(t, "SELECT COUNT(*) FROM outbox_callout") == 0
	})
}

func ledgerA1(t *testing.T) {
	s := fresh(t, "7.9")
	s.called()
	s.requestRerun()
	s.measured("4.2")
	s.confirmed("4.2")
	await.True(t, "the correction", func() bool { return s.find(boardOf(t, ledgerUser).Corrected) != nil })
	s.want(isDone)
	s.inbox(drNorth, withdrawnTitle, correctedTitle)
	s.inbox(inNorth, withdrawnTitle, correctedTitle)
	s.requestRerun()
	s.measured("7.9")
	s.confirmed("7.9")
	s.awaits("7.9 again is news", isPending)
	s.onBoard("open")
	if s.opened().DueAt == nil {
		t.Error("it has no deadline")
	}
	s.inbox(drNorth, withdrawnTitle, correctedTitle, noticeTitle)
	s.called()
	s.onBoard()
	s.want(isDone)
}

func ledgerA2(t *testing.T) {
	defer ledgerSettings(t, `{"repeat_within_hours":24}`)()
	first := fresh(t, "7.2")
	first.called()
	similar := first.again("7.0")
	similar.want(isAbnormal)
	similar.inbox(drNorth)
	records := call(t, ledgerUser, "GET", fmt.Sprintf("/report/%d/critical/records", similar.bill), "").body
	if !strings.Contains(records, `"suppressed":[{"critical_parameters":[{"value":7,`) || !strings.Contains(records, "within 24 hours") {
		t.Errorf("records do not say what is suppressed: %s", records)
	}

	normal := fresh(t, "7.2") // (a)
	normal.called()
	normal.again("4.1").want(isNormal)
	news := normal.again("7.0")
	news.want(isPending)
	news.inbox(drNorth, noticeTitle)

	other := fresh(t, "7.2") // (b)
	other.called()
	moved := unseeded(t)
	moved.patient = other.patient
	moved.seed("7.0")
	moved.toSouth()
	moved.judge()
	moved.want(isPending)
	moved.inbox(drSouth, noticeTitle)
	moved.inbox(inSouth, noticeTitle)
	moved.inbox(drNorth)

	first.becomes("4.2") // (c)
	similar.awaits("the call that justified it was wrong", isPending)
	similar.inbox(drNorth, noticeTitle)
	similar.onBoard("open")
}

func ledgerA3(t *testing.T) {
	for _, text := range []string{"Positive for Gram-negative bacilli", "Growth of E. coli", "Postive", "+ve", "seven"} { //nolint:misspell // as people type
		s := unseeded(t)
		s.test = ledgerCulture
		s.seed(text)
		s.judge()
		s.onBoard("unclear")
	}
	critical := unseeded(t)
	critical.test = ledgerCulture
	critical.seed("POSITIVE.")
	critical.judge()
	critical.want(isPending)

	unreadable := fresh(t, "Haemolysed")
	unreadable.onBoard("unclear")
	waits := fresh(t, "7.9")
	waits.becomes("Haemolysed")
	waits.want(isPending)
	waits.onBoard("open", "unclear")
	called := fresh(t, "7.9")
	called.called()
	called.becomes("See comment, sample lysed")
	called.inbox(drNorth, withdrawnTitle, correctedTitle)
	called.logged("cannot be read any more", map[string]any{"corrected": true, "reason": "unreadable"})
	called.onBoard("unclear", "corrected")
}

func ledgerA4(t *testing.T) {
	dismissed := fresh(t, "7.9") // (a)
	dismissed.called()
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1 WHERE id = ?", dismissed.report)
	dismissed.judge()
	dismissed.inbox(drNorth, withdrawnTitle, correctedTitle)
	dismissed.inbox(inNorth, withdrawnTitle, correctedTitle)
	dismissed.logged("dismissed", map[string]any{"corrected": true, "notified_persons": "[Dr Anand]"})
	dismissed.onBoard("corrected")

	s := fresh(t, "7.9") // (b)
	s.called()
	right := unseeded(t)
	right.seed("4.1")
	right.toSouth()
	execSQL(t, "UPDATE labReportRelation SET userDetailsId_id = ?, billId_id = ?, orgId_id = 4146, docForId_id = 4192 WHERE id = ?", right.patient, right.bill, s.report)
	s.judgeBill(right.bill)
	s.want(isPending)
	right.delivered()
	s.inbox(drNorth, withdrawnTitle, correctedTitle)
	s.inbox(inNorth, withdrawnTitle, correctedTitle)
	s.inbox(drSouth, noticeTitle)
	s.inbox(inSouth, noticeTitle)
	s.logged("belongs to another patient", map[string]any{"corrected": true})
	if s.opened().DueAt == nil {
		t.Error("the new patient's result has no deadline")
	}

	unread := fresh(t, "7.9") // (c)
	unread.delivered()
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1 WHERE id = ?", unread.report)
	unread.judge()
	unread.logged("dismissed", map[string]any{"withdrawn": true})
	unread.inbox(drNorth, withdrawnTitle)
	unread.onBoard()

	merged := fresh(t, "7.9")
	merged.called()
	kept := unseeded(t)
	kept.seed("4.1")
	execSQL(t, "UPDATE labReportRelation SET userDetailsId_id = ? WHERE id = ?", kept.patient, merged.report)
	execSQL(t, "UPDATE billing SET userDetailsId_id = ? WHERE id = ?", kept.patient, merged.bill)
	execSQL(t, "UPDATE userDetails SET isDeleted = 1 WHERE id = ?", merged.patient)
	merged.judge()
	merged.want(isDone)
	merged.inbox(drNorth, noticeTitle)
}

func ledgerA5(t *testing.T) {
	baby := unseeded(t)
	baby.test = ledgerBilirubin
	baby.seed("19")
	baby.judge()
	baby.want(isNormal)
	execSQL(t, "UPDATE userDetails SET dateOfBirth = CURDATE() - INTERVAL 4 DAY WHERE id = ?", baby.patient)
	baby.awaits("the birth date was corrected", isPending)
	baby.onBoard("open")
	baby.inbox(drNorth, noticeTitle)

	s := fresh(t, "4.1")
	execSQL(t, "UPDATE reportValues SET value = '8.8' WHERE labReportId_id = ?", s.report)
	s.awaits("a value was saved without its report", isPending)

	ranged := unseeded(t)
	ranged.test = ledgerOtherTest
	ranged.seed("6.2")
	ranged.judge()
	ranged.want(isAbnormal)
	execSQL(t, "UPDATE ReportFormatRange SET criticalUpper = 6.0 WHERE id = 416720")
	defer execSQL(t, "UPDATE ReportFormatRange SET criticalUpper = 6.5 WHERE id = 416720")
	ranged.awaits("the limits changed", isPending)
}

func ledgerA6(t *testing.T) {
	limits := func(upper string) {
		execSQL(t, "UPDATE ReportFormatRange SET criticalUpper = ? WHERE reportFormatId_id IN (41672, 41673)", upper)
	}
	seeded := func(value string) story {
		s := unseeded(t)
		s.test = ledgerOtherTest
		s.seed(value)
		s.judge()
		return s
	}
	limits("6.5")
	s, waits := seeded("6.9"), seeded("6.8") // (a)
	s.called()
	limits("7.0")
	execSQL(t, "UPDATE labReportRelation SET isSigned = 1, updatedOn = NOW(6) WHERE id = ?", s.report)
	s.judge()
	s.want(isDone)
	s.logged("limits", map[string]any{"reason": "limits"})
	s.inbox(drNorth, noticeTitle)
	s.inbox(inNorth, noticeTitle)
	s.onBoard()
	waits.judge()
	waits.want(isAbnormal)
	waits.logged("limits", map[string]any{"withdrawn": true, "reason": "limits"})
	waits.onBoard()
	limits("6.5")

	called, pending := seeded("7.9"), seeded("7.9") // (b), (c)
	called.called()
	execSQL(t, "UPDATE ReportFormat SET id = 41673 WHERE id = 41672")
	execSQL(t, "UPDATE ReportFormatRange SET reportFormatId_id = 41673 WHERE reportFormatId_id = 41672")
	called.becomes("4.2")
	called.inbox(drNorth, withdrawnTitle, correctedTitle)
	called.onBoard("corrected")
	pending.becomes("4.2")
	pending.want(isNormal)
	pending.onBoard()
}

func ledgerA8(t *testing.T) {
	s := fresh(t, "6.6")
	at := time.Now().UTC().Format(time.RFC3339Nano)
	time.Sleep(time.Second)
	s.value("2.1")
	s.refused(http.StatusConflict, `"communication_methods":["call"],"read_back":true,"notified_person":"Dr Anand","notified_at":"`+at+`"`)
	s.want(isPending)
	if got := call(t, ledgerUser, "POST", "/operation/critical-callout", fmt.Sprintf(`{"lab_report_ids":[%d]}`, s.report)).body; got != `{"records":[]}` {
		t.Errorf("the audit has %s", got)
	}
	s.onBoard("open")
}

// second seeds another report on the bill.
func (s story) second(value string) story {
	s.Helper()
	next := unseeded(s.T)
	next.patient, next.report = s.patient, s.report+1
	next.seed(value)
	execSQL(s.T, "UPDATE labReportRelation SET billId_id = ? WHERE id = ?", s.bill, next.report)
	next.bill = s.bill
	return next
}

// attempts returns the comments of the bill's attempts by report, and the comment of the newest.
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

func ledgerB1(t *testing.T) {
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
		t.Fatalf("%d %s", got.status, got.body)
	}
	both.called()
	other.want(isAttempted)
	if by, newest := both.attempts(both.bill); by[other.report] != "both" || newest != "both" {
		t.Errorf("after the call of one: attempts %v, newest %q", by, newest)
	}

	target := unseeded(t) // a split moves the attempted report
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

func ledgerB2(t *testing.T) {
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

	paid := fresh(t, "7.9") // without an organization, and with another doctor today
	execSQL(t, "UPDATE billing SET orgId_id = NULL WHERE id = ?", paid.bill)
	paid.called()
	execSQL(t, "UPDATE billing SET docId_id = 4192 WHERE id = ?", paid.bill)
	paid.becomes("4.2")
	paid.inbox(drNorth, withdrawnTitle, correctedTitle)
	paid.inbox(drSouth, correctedTitle)

	same := fresh(t, "7.9") // the doctor stays
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

// once wants one correction that tells the laboratory's devices.
func (s story) once() {
	s.Helper()
	loud := count(s.T, fmt.Sprintf("SELECT COUNT(*) FROM Notifications WHERE lab_id = 41 AND JSON_VALUE(context, '$.lrr_id') = %d AND"+
		" JSON_CONTAINS(context, 'true', '$.corrected') AND NOT IFNULL(JSON_CONTAINS(context, 'false', '$.laboratory'), 0)", s.report))
	if loud != 1 {
		s.Errorf("the laboratory's devices are told %d times of the correction", loud)
	}
}

func ledgerB3(t *testing.T) {
	baby := unseeded(t)
	baby.test = ledgerBilirubin
	baby.seed("19")
	execSQL(t, "UPDATE userDetails SET dateOfBirth = CURDATE() + INTERVAL 2 DAY WHERE id = ?", baby.patient)
	baby.judge()
	baby.onBoard("unclear")
	execSQL(t, "UPDATE userDetails SET dateOfBirth = CURDATE() - INTERVAL 4 DAY WHERE id = ?", baby.patient)
	execSQL(t, "UPDATE labs SET timezone = 'IST' WHERE id = 41")
	defer execSQL(t, "UPDATE labs SET timezone = 'Asia/Kolkata' WHERE id = 41")
	baby.judge()
	baby.onBoard("unclear")
	execSQL(t, "UPDATE labs SET timezone = 'Asia/Kolkata' WHERE id = 41")
	baby.judge()
	baby.onBoard("open")
}

func ledgerB4(t *testing.T) {
	s := fresh(t, "7.9")
	s.reads(drNorth)
	s.becomes("4.2")
	s.want(isNormal)
	s.inbox(drNorth, noticeTitle, correctedTitle)
	s.inbox(inNorth, noticeTitle, correctedTitle)
	s.logged("withdrawn before a callout", map[string]any{"withdrawn": true, "reason": "not_critical"})
	for _, n := range inboxOf(t, drNorth) {
		if m := n["message"].(map[string]any); m["title"] == correctedTitle && strings.Contains(m["body"].(string), "called") {
			t.Errorf("the text claims a call: %v", m)
		}
	}
	unread := fresh(t, "7.9")
	unread.delivered()
	unread.becomes("4.2")
	unread.inbox(drNorth, withdrawnTitle)

	two := fresh(t, "7.9") // one of two values is taken back
	execSQL(t, "INSERT INTO reportValues (labReportId_id, reportForId_id, `index`, `order`, parameter_name, value) VALUES (?, ?, 1, 1, 'Sodium', '118')", two.report, two.report)
	execSQL(t, "DELETE FROM callout_episode WHERE lab_report_id = ?", two.report)
	execSQL(t, "DELETE FROM callout_statement WHERE lab_report_id = ?", two.report)
	execSQL(t, "UPDATE labReportRelation SET criticalValues = 0 WHERE id = ?", two.report)
	two.delivered()
	execSQL(t, "DELETE FROM Notifications WHERE lab_id = 41 AND JSON_VALUE(context, '$.lrr_id') = ?", two.report)
	two.judge()
	two.reads(inNorth)
	two.becomes("4.2")
	two.want(isPending)
	two.inbox(inNorth, noticeTitle, correctedTitle)
	if got := two.opened().Critical; len(got) != 1 || got[0].Raw != "118" {
		t.Errorf("it waits for %v", got)
	}
}

func ledgerB5(t *testing.T) {
	for _, c := range []struct{ value, reason string }{{"Haemolysed", "unreadable"}, {"", "blank"}, {"---", "blank"}} {
		s := fresh(t, "7.9")
		s.called()
		s.becomes(c.value)
		s.inbox(drNorth, withdrawnTitle, correctedTitle)
		s.logged("A called critical result was corrected", map[string]any{"corrected": true, "reason": c.reason})
		s.saved(`"communication_methods":["call"],"read_back":true,"notified_person":"Dr Anand","force":true`, "CALLOUT_DONE")
		s.becomes("4.2")
		s.inbox(drNorth, withdrawnTitle, correctedTitle)
	}
	removed := fresh(t, "7.9")
	removed.called()
	execSQL(t, "DELETE FROM reportValues WHERE labReportId_id = ?", removed.report)
	removed.judge()
	removed.inbox(drNorth, withdrawnTitle, correctedTitle)

	later := fresh(t, "7.9") // without a named evaluation: after three minutes
	later.called()
	later.older(10)
	execSQL(t, "UPDATE reportValues SET value = 'Haemolysed' WHERE labReportId_id = ?", later.report)
	time.Sleep(3 * time.Second)
	later.inbox(drNorth, noticeTitle)
	execSQL(t, "UPDATE reportValues SET updated_at = NOW(6) - INTERVAL 4 MINUTE WHERE labReportId_id = ?", later.report)
	await.True(t, "it is taken back", func() bool { return later.find(boardOf(t, ledgerUser).Corrected) != nil })
	later.inbox(drNorth, withdrawnTitle, correctedTitle)

	waits := fresh(t, "7.9") // what waits keeps waiting
	waits.reads(drNorth)
	waits.becomes("")
	waits.want(isPending)
	waits.inbox(drNorth, noticeTitle, correctedTitle)
	waits.onBoard("open")
}

func ledgerB6(t *testing.T) {
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

func ledgerB8(t *testing.T) {
	defer ledgerSettings(t, `{"escalate_minutes":1,"escalate_most":1,"remind_hours":8}`)()
	for _, attempt := range []bool{false, true} {
		s := fresh(t, "6.6")
		if attempt {
			s.saved(`"is_draft":true,"critical_callout_comment":"no answer"`, "CALLOUT_ATTEMPTED")
		}
		s.delivered()
		s.older(2)
		await.True(t, "the last escalation", func() bool { return s.opened().Escalations == 1 })
		if e := s.opened(); e.DueAt != nil || e.RemindAt == nil {
			t.Errorf("after the last escalation: %+v", e)
		}
		s.inbox(drNorth, noticeTitle)
		s.becomes("6.6")
		s.inbox(drNorth, noticeTitle)
		s.becomes("8.9")
		if e := s.opened(); e.DueAt == nil || e.Escalations != 0 {
			t.Errorf("a worse value: %+v", e)
		}
		s.inbox(drNorth, noticeTitle, noticeTitle)
		s.becomes("8.5") // a milder one is no news
		s.inbox(drNorth, noticeTitle, noticeTitle)
	}
}

func ledgerB9(t *testing.T) {
	execSQL(t, "DELETE FROM FcmDevices WHERE lab_id = 41")
	s := fresh(t, "7.9")
	s.inbox(drNorth, noticeTitle)
	off := func(want string) {
		t.Helper()
		await.Nil(t, "the board's reason "+want, func() error {
			b := boardOf(t, ledgerUser)
			if b.Off == nil && want != "" || b.Off != nil && (b.Off.Reason != want || b.Off.Since == "") {
				return fmt.Errorf("%+v", b.Off)
			}
			return nil
		})
	}
	off("no_device")
	switched := func(off bool) {
		t.Helper()
		body := fmt.Sprintf(`{"notification_types":[{"id":2,"is_disabled":%t}]}`, off)
		if got := call(t, ledgerAdmin, "POST", notificationsPath+"notification-type/bulk", body); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	s.called()
	silent := fresh(t, "7.9")
	switched(true)
	defer switched(false)
	s.becomes("4.2")
	off("type_off")
	swallowed := fresh(t, "7.8")
	swallowed.inbox(drNorth)
	await.True(t, "the mark of a report without notice", func() bool { return swallowed.opened().NoticesOff })
	swallowed.logged("was not sent", map[string]any{"not_sent": true})
	s.inbox(drNorth, withdrawnTitle)
	if e := s.find(boardOf(t, ledgerUser).Corrected); e == nil || e.NoticeSent {
		t.Errorf("the correction on the board: %+v, want one that was not sent", e)
	}
	switched(false)
	off("no_device")
	await.True(t, "the swallowed notice is sent", func() bool { return slices.Equal(swallowed.titles(drNorth), []string{noticeTitle}) })
	if got := call(t, ledgerUser, "POST", notificationsPath+"fcm/topic/subscribe", `{"token":"ledger-device","platform":"web"}`); got.status != http.StatusOK {
		t.Fatalf("subscribe: %d %s", got.status, got.body)
	}
	off("")
	silent.inbox(drNorth, noticeTitle) // it was in the inbox all the time
	await.True(t, "no report is without notice", func() bool { return !swallowed.opened().NoticesOff && !silent.opened().NoticesOff })
}

func ledgerB10(t *testing.T) {
	for _, end := range []string{"confirm", "abort"} {
		s := fresh(t, "5.9")
		s.requestRerun()
		s.measured("8.9")
		await.True(t, "the unconfirmed value", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) != nil })
		s.judge()
		s.onBoard("unconfirmed")
		s.inbox(ledgerUser)
		s.older(31)
		await.True(t, "the laboratory is told", func() bool { return slices.Equal(s.titles(ledgerUser), []string{unconfirmedTitle}) })
		s.inbox(drNorth)
		s.inbox(inNorth)
		time.Sleep(2 * time.Second)
		s.inbox(ledgerUser, unconfirmedTitle)
		if end == "confirm" {
			s.confirmed("8.9")
			s.awaits("the confirmed value is critical", isPending)
			await.True(t, "it is confirmed", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) == nil })
			s.onBoard("open")
			s.inbox(drNorth, noticeTitle)
			continue
		}
		s.rerun("abort", `{}`)
		await.True(t, "it is aborted", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) == nil })
		s.onBoard()
	}
}

func ledgerB11(t *testing.T) {
	defer ledgerSettings(t, `{"escalate_minutes":1440}`)()
	s := fresh(t, "7.9")
	due := func() time.Duration {
		at, err := time.Parse(time.RFC3339, *s.opened().DueAt)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(at)
	}
	if d := due(); d < 23*time.Hour {
		t.Errorf("due in %v", d)
	}
	defer ledgerSettings(t, `{"escalate_minutes":5}`)()
	await.True(t, "it is due in five minutes", func() bool { return due() <= 5*time.Minute+time.Second })
}

func ledgerB13(t *testing.T) {
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

// stopNotifications stops notifications until back is called.
func stopNotifications(t *testing.T) (back func()) {
	t.Helper()
	if err := stack.Stop("notifications"); err != nil {
		t.Fatal(err)
	}
	there := false
	back = func() {
		if !there {
			there = true
			startReached(t, "notifications", nil)
		}
	}
	return back
}

func ledgerB14(t *testing.T) {
	back := stopNotifications(t)
	defer back()
	called, corrected, waits := judged(t, "7.9"), judged(t, "7.9"), judged(t, "7.9")
	for _, s := range []story{called, corrected} {
		s.older(31)
		await.True(t, "an escalation", func() bool { return s.opened().Escalations == 1 })
	}
	called.called()
	corrected.becomes("4.2")
	back()
	waits.inbox(drNorth, noticeTitle)
	for _, s := range []story{called, corrected} {
		for _, session := range []string{drNorth, inNorth, ledgerUser} {
			s.inbox(session)
		}
	}
}

func ledgerB15(t *testing.T) {
	back := stopNotifications(t)
	defer back()
	begin := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	s := judged(t, "7.9")
	await.Nil(t, "the reason on the board", func() error {
		if off := boardOf(t, ledgerUser).Off; off == nil || off.Reason != "unavailable" || off.Since < begin {
			return fmt.Errorf("%+v", off)
		}
		return nil
	})
	back()
	s.inbox(drNorth, noticeTitle)
	await.True(t, "the board says nothing any more", func() bool { return boardOf(t, ledgerUser).Off == nil })
	s.inbox(drNorth, noticeTitle)
}

func ledgerB16(t *testing.T) {
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

// elsewhere completes the report as another program does, with its own shape of JSON.
func (s story) elsewhere() {
	s.Helper()
	execSQL(s.T, "INSERT INTO CriticalCallout (lab_id, bill_id, lab_report_id, org_id, referral_doc_id, user_details_id, critical_values_meta,"+
		" critical_callout_meta, created_on) VALUES (41, ?, ?, 4145, 4191, ?, '[1]', '{}', NOW(6))", s.bill, s.report, s.patient)
	execSQL(s.T, "UPDATE labReportRelation SET criticalValues = 2, updatedOn = NOW(6) WHERE id = ?", s.report)
}

func ledgerB17(t *testing.T) {
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

func ledgerB18(t *testing.T) {
	defer ledgerSettings(t, `{"escalate_minutes":30,"escalate_most":2,"remind_hours":6}`)()
	s := fresh(t, "7.9")
	for level := 1; level <= 2; level++ {
		s.older(31)
		await.True(t, "an escalation", func() bool { return s.opened().Escalations == level })
	}
	e := s.opened()
	if e.DueAt != nil || e.RemindAt == nil {
		t.Fatalf("after the last escalation: %+v", e)
	}
	s.inbox(ledgerUser, noticeTitle, overdueTitle, overdueTitle)
	s.older(6*60 + 1)
	await.True(t, "a reminder", func() bool { return len(s.titles(ledgerUser)) == 4 })
	s.inbox(ledgerUser, noticeTitle, overdueTitle, overdueTitle, overdueTitle)
	s.inbox(drNorth, noticeTitle)
	s.logged("reminder", map[string]any{"reminder": true})
	if e := s.opened(); e.DueAt != nil || e.RemindAt == nil {
		t.Errorf("after the reminder: %+v", e)
	}
	s.called()
	s.older(12 * 60)
	time.Sleep(2 * time.Second)
	s.inbox(ledgerUser, noticeTitle, overdueTitle, overdueTitle, overdueTitle)
}

func ledgerC1(t *testing.T) {
	s := fresh(t, "7.1")
	s.called()
	s.becomes("7.10")
	s.want(isDone)
	s.inbox(drNorth, noticeTitle)
}

func ledgerM6(t *testing.T) {
	s := fresh(t, "Haemolysed")
	s.onBoard("unclear")
	s.inbox(ledgerUser)
	s.older(31)
	await.True(t, "the laboratory is told", func() bool { return slices.Equal(s.titles(ledgerUser), []string{unclearTitle}) })
	s.inbox(drNorth)
	time.Sleep(2 * time.Second)
	s.inbox(ledgerUser, unclearTitle)
	s.becomes("4.1")
	s.onBoard()
}
