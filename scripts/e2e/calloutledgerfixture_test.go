package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// The scenarios have a laboratory of their own, so that other tests do not affect its settings, ranges and board.
// Potassium (index 2 of ledgerTest) is critical below 2.5 and above 6.5. Bilirubin is critical for newborns only.
// Results of a culture are texts.
const (
	ledgerTest, ledgerBilirubin, ledgerCulture, ledgerOtherTest = 4166, 4161, 4168, 4167
	ledgerNoDepartment, ledgerForeignDepartment                 = 4198, 4199
	ledgerUser, ledgerAdmin                                     = "ledger-user", "ledger-admin"
	inNorth, inSouth, drNorth, drSouth                          = "ledger-north", "ledger-south", "ledger-dr-north", "ledger-dr-south"
	noticeTitle, correctedTitle                                 = "Critical report", "A critical result was corrected"
	overdueTitle, unclearTitle                                  = "Critical result waits for a call", "A value may be critical"
	withdrawnTitle                                              = "Withdrawn: " + noticeTitle // notice was unread
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

// story is one report of a scenario: a patient, a bill of the north hospital, and a report of ledgerTest.
type story struct {
	*testing.T
	patient, bill, report, test int
}

// ledgerStories counts the reports of all scenarios. Ids are derived from it.
var ledgerStories int

// fresh seeds a report of a new patient with a value, evaluates it, and waits until its notice is delivered.
func fresh(t *testing.T, value string) story {
	t.Helper()
	s := judged(t, value)
	s.delivered() // an earlier call would stop the notice
	return s
}

// judged is like fresh, but the notice may still be in the outbox.
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

// seed inserts the rows as the core does.
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

// again seeds and evaluates another report of the same patient.
func (s story) again(value string) story {
	s.Helper()
	next := unseeded(s.T)
	next.patient = s.patient
	next.seed(value)
	next.judge()
	return next
}

// value changes the value as the core does, without an evaluation.
func (s story) value(value string) {
	s.Helper()
	execSQL(s.T, "UPDATE reportValues SET value = ? WHERE labReportId_id = ? AND `index` = 2", value, s.report)
	execSQL(s.T, "UPDATE labReportRelation SET updatedOn = NOW(6) WHERE id = ?", s.report)
}

// becomes changes the value and evaluates the bill.
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

// save posts a callout about the report. fields are additional members of the body.
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

// state returns the state in the report's row.
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

// logs returns the texts of the report's history, the oldest first.
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

// logged expects an entry of the history that contains part and has these fields in its meta.
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

// delivered waits until every outbox message about the bill is delivered.
func (s story) delivered() {
	s.Helper()
	await.True(s.T, "the messages are delivered", func() bool {
		return count(s.T, fmt.Sprintf("SELECT COUNT(*) FROM outbox_callout WHERE aggregate = 'bill:%d'", s.bill)) == 0
	})
}

// inbox expects these titles of a login's notifications about the report, the oldest first.
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

// reads marks all notifications about the report as read, in a login's inbox.
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

// boardEntry is a report in any list of the board.
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

// ledgerBoard is the worklist of a login.
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

// onBoard expects the report in exactly these lists of the board.
func (s story) onBoard(lists ...string) {
	s.Helper()
	b := boardOf(s.T, ledgerUser)
	for name, list := range map[string][]boardEntry{"open": b.Open, "unclear": b.Unclear, "corrected": b.Corrected, "unconfirmed": b.Unconfirmed} {
		if found, want := s.find(list) != nil, slices.Contains(lists, name); found != want {
			s.Errorf("report %d on the board among %s: %v, want %v", s.report, name, found, want)
		}
	}
}

// opened returns the report's entry in the list of open results. Its absence fails the test.
func (s story) opened() boardEntry {
	s.Helper()
	if e := s.find(boardOf(s.T, ledgerUser).Open); e != nil {
		return *e
	}
	s.Fatalf("report %d does not wait on the board; history: %v", s.report, s.logs())
	return boardEntry{}
}

// older moves all stored times of the report into the past.
func (s story) older(minutes int) {
	s.Helper()
	ms := minutes * 60_000
	execSQL(s.T, "UPDATE callout_episode SET detected_at = detected_at - ?, due_at = due_at - ?, remind_at = remind_at - ? WHERE lab_report_id = ?", ms, ms, ms, s.report)
	execSQL(s.T, "UPDATE callout_statement SET said_at = said_at - ?, told_at = told_at - ? WHERE lab_report_id = ?", ms*1000, ms*1000, s.report)
	execSQL(s.T, "UPDATE reportValues SET updated_at = updated_at - INTERVAL ? MINUTE WHERE labReportId_id = ?", minutes, s.report)
	execSQL(s.T, "UPDATE callout_unconfirmed SET received_at = received_at - ? WHERE lab_report_id = ?", ms*1000, s.report)
}

// reaped waits until the reaper has completed a pass that begins after the call. For that it escalates two reports in
// turn, because the second escalation belongs to a later pass than the first.
func reaped(t *testing.T) {
	t.Helper()
	for range 2 {
		due := fresh(t, "7.9")
		due.older(31)
		await.True(t, "an escalation of another report", func() bool { return due.opened().Escalations == 1 })
		due.called()
	}
}

// ledgerSettings changes the laboratory's settings and returns a function that resets them.
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

// rerun requests another measurement of potassium, or continues it.
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
