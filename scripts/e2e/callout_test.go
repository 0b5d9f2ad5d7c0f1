package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// newCriticalBill seeds a bill of laboratory 12 with three reports, whose ids follow the bill's: electrolytes with a
// critical potassium (department 5), a blood count with a critical haemoglobin (department 4), and a normal glucose.
func newCriticalBill(t *testing.T, bill, potassiumStatus, countStatus int) {
	t.Helper()
	wantUnused(t, bill)
	applyFixture(t, fmt.Sprintf(`{"mysql":{
		"billing":[{"id":%[1]d,"labId_id":12,"labBillId":%[1]d,"orderNumber":"E2E","userDetailsId_id":501,"orgId_id":45,"docId_id":301}],
		"billingInfo":[{"id":%[1]d,"billId_id":%[1]d,"labId_id":12,"testId_id":66}],
		"labReportRelation":[
			{"id":%[2]d,"labId_id":12,"billId_id":%[1]d,"billingInfoId_id":%[1]d,"userDetailsId_id":501,"reportID_id":66,"orgId_id":45,"sampleId":"E2E-%[2]d","sampleCollected":1,"sampleCollectionTime":"2026-11-19T04:07:30Z","criticalValues":%[5]d},
			{"id":%[3]d,"labId_id":12,"billId_id":%[1]d,"userDetailsId_id":501,"reportID_id":55,"orgId_id":45,"sampleCollected":1,"sampleCollectionTime":"2026-11-19T04:07:30Z","criticalValues":%[6]d},
			{"id":%[4]d,"labId_id":12,"billId_id":%[1]d,"userDetailsId_id":501,"reportID_id":64,"sampleCollected":1,"criticalValues":1}],
		"reportValues":[
			{"labReportId_id":%[2]d,"index":2,"order":2,"parameter_name":"Potassium","value":"7.1"},{"labReportId_id":%[2]d,"index":1,"order":1,"parameter_name":"Sodium","value":"140"},
			{"labReportId_id":%[3]d,"index":1,"order":1,"parameter_name":"Haemoglobin","value":"5.9"},{"labReportId_id":%[4]d,"index":1,"order":1,"value":"88"}]}}`,
		bill, bill+1, bill+2, bill+3, potassiumStatus, countStatus))
}

// wantUnused fails when another test has created the bill: notices and history of that test would be counted, too.
func wantUnused(t *testing.T, bill int) {
	t.Helper()
	if count(t, fmt.Sprint("SELECT COUNT(*) FROM billing WHERE id = ", bill)) > 0 {
		t.Fatalf("another test has created bill %d", bill)
	}
}

func records(t *testing.T, session string, bill int) map[string]any {
	t.Helper()
	got := call(t, session, "GET", fmt.Sprintf("/report/%d/critical/records", bill), "")
	if got.status != http.StatusOK {
		t.Fatalf("records: %d %s", got.status, got.body)
	}
	return got.json(t)
}

// states returns the reports in the critical records of a bill, as "id state".
func states(t *testing.T, session string, bill int) (list []string) {
	t.Helper()
	for _, r := range records(t, session, bill)["reports"].([]any) {
		report := r.(map[string]any)["lab_report"].(map[string]any)
		list = append(list, fmt.Sprintf("%v %v", report["labReportId"], report["criticalValues"]))
	}
	return list
}

func evaluateBill(t *testing.T, bill int) answer {
	t.Helper()
	return callAt(t, stack.Endpoints.GatewayInternal, "", "POST", fmt.Sprintf("/report/%d/critical/evaluate", bill), `{"lab_id":12}`,
		"Authorization", "Bearer "+internalToken(t), "X-Is-Internal-Request", "True")
}

func TestCalloutDocumentedAnswers(t *testing.T) {
	t.Parallel()
	newCriticalBill(t, 971000, 1, 1)
	const save = "/report/971000/critical/callout"
	// A call does not count for values that are newer than it, so its time is after the fixture.
	told := time.Now().UTC().Format(time.RFC3339)
	complete := func(id int) string {
		return fmt.Sprintf(`{"is_draft":false,"lab_report_ids":[%d],"recipients":["Referral Doctor"],"communication_methods":["call"],"critical_callout_comment":"told","read_back":true,"notified_person":"Dr Rao","notified_at":%q}`, id, told)
	}
	many := strings.TrimSuffix(strings.Repeat("1,", 501), ",")
	steps := []struct {
		name, session, method, path, body string
		status                            int
		want                              string
	}{
		{"no session", "", "GET", "/report/971000/critical/records", "", 401, `"code":401`},
		{"a bill that is no number", labSession, "GET", "/report/abc/critical/records", "", 400, `"code":400`},
		{"bill 0", labSession, "GET", "/report/0/critical/records", "", 400, `bill_id must be a positive integer`},
		{"no such bill", labSession, "GET", "/report/999999999/critical/records", "", 404, `{"code":404,"message":"There is no such bill in this laboratory","details":""}`},
		{"another laboratory's bill", otherSession, "GET", "/report/971000/critical/records", "", 404, `"code":404`},
		{"an organisation", "demo-organization", "GET", "/report/971000/critical/records", "", 403, `"code":403`},
		{"a collection centre", "demo-collection-center", "GET", "/report/bulk/critical-notification/logs?report_ids=1", "", 403, `"code":403`},
		{"records", labSession, "GET", "/report/971000/critical/records/", "", 200, `{"reports":[{"critical_parameters":[{"value":7.1,"parameter_name":"Potassium","reference_range":"3.5 - 5.1","unit":"mmol/L","critical_range":"< 2.5 or > 6.5","flag":"critical_high","raw_value":"7.1","index":2,"report_format_id":6602}],"lab_report":{"orgId":45,"onHold":0,"billId":971000,"docForId":null,"reportID":{"testID":66,"testName":"Serum Electrolytes","departmentId":5,"departmentName":"Biochemistry","isProfile":0},"isSigned":0,"isSynced":0,"comments":null,"isProfile":0,"isApproved":0,"isResolved":0,"inQuestion":0,"labReportId":971001,"notPerformed":0,"claim_on_hold":0,"userDetailsId":501,"reportFormatId":null,"criticalValues":"CALLOUT_PENDING","auto_approval_status":0}},`},
		{"no draft", labSession, "GET", "/api-v3/report/971000/critical/records", "", 200, `"attempted_callout":{},"suppressed":[]}`},
		{"no ids", labSession, "GET", "/report/bulk/critical-notification/logs", "", 400, "report_ids is empty"},
		{"an id that is no number", labSession, "GET", "/report/bulk/critical-notification/logs?report_ids=971001,x", "", 400, "digits only"},
		{"a signed id", labSession, "GET", "/report/bulk/critical-notification/logs?report_ids=-1", "", 400, "digits only"},
		{"an empty id", labSession, "GET", "/report/bulk/critical-notification/logs?report_ids=971001,", "", 400, "digits only"},
		{"501 ids", labSession, "GET", "/report/bulk/critical-notification/logs?report_ids=" + many, "", 400, "more than 500"},
		{"no history", labSession, "GET", "/report/bulk/critical-notification/logs?report_ids=971001,999", "", 200, `{"logs":[]}`},
		{"audit without ids", labSession, "POST", "/operation/critical-callout", `{}`, 400, "lab_report_ids is empty"},
		{"audit of words", labSession, "POST", "/operation/critical-callout", `{"lab_report_ids":["x"]}`, 400, `"code":400`},
		{"audit of 501", labSession, "POST", "/operation/critical-callout", `{"lab_report_ids":[` + many + `]}`, 400, "more than 500"},
		{"audit without callouts", labSession, "POST", "/api-v3/operation/critical-callout/", `{"lab_report_ids":[971001]}`, 200, `{"records":[]}`},
		{"broken JSON", labSession, "POST", save, `{`, 400, `"code":400`},
		{"no reports", labSession, "POST", save, `{"recipients":["a"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`, 400, "lab_report_ids is empty"},
		{"no recipients", labSession, "POST", save, `{"lab_report_ids":[971001],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`, 400, "recipients is empty"},
		{"no one was reached", labSession, "POST", save, `{"lab_report_ids":[971001],"recipients":["a"],"communication_methods":["call"],"outcome":"unable_to_reach"}`, 400, "is_draft true"},
		{"an unknown outcome", labSession, "POST", save, `{"lab_report_ids":[971001],"recipients":["a"],"communication_methods":["call"],"outcome":"well"}`, 400, "outcome must be"},
		{"a call in the future", labSession, "POST", save, `{"lab_report_ids":[971001],"recipients":["a"],"communication_methods":["call"],"notified_at":"2999-01-01T00:00:00Z"}`, 400, "in the future"},
		{"no one is named", labSession, "POST", save, `{"lab_report_ids":[971001],"recipients":["a"],"communication_methods":["call"],"read_back":false}`, 400, "notified_person is not a name"},
		{"another bill's report", labSession, "POST", save, complete(7001), 400, "report 7001 is not on this bill"},
		{"a normal report", labSession, "POST", save, complete(971003), 409, "no critical value"},
		{"another laboratory", otherSession, "POST", save, complete(971001), 404, `"code":404`},
		{"an organisation writes", "demo-organization", "POST", save, complete(971001), 403, `"code":403`},
		{"a draft", labSession, "POST", save, `{"is_draft":true,"lab_report_ids":[971001],"recipients":["Organization"],"communication_methods":["email"],"critical_callout_comment":"no answer"}`, 200, `{"message":"Critical callout draft saved successfully","status":"CALLOUT_ATTEMPTED","reports":[971001]}`},
		{"the draft", labSession, "GET", "/report/971000/critical/records", "", 200, `"critical_callout_comment":"no answer","critical_callout_meta":{"callout_for":[66],"communication_methods":["email"]`},
		{"the draft's recipients", labSession, "GET", "/report/971000/critical/records", "", 200, `"attempted_callout":{"recipients":["Organization"],`},
		{"the draft's values", labSession, "GET", "/report/971000/critical/records", "", 200, `"critical_values_meta":{"971001":{"critical_parameters":[{"critical_range":`},
		{"complete", labSession, "POST", "/api-v3" + save, complete(971001), 200, `{"message":"Critical callout saved successfully","status":"CALLOUT_DONE","reports":[971001]}`},
		{"complete again", labSession, "POST", save, complete(971001), 409, "done already for reports 971001"},
		{"a draft afterwards", labSession, "POST", save, `{"is_draft":true,"lab_report_ids":[971001]}`, 409, "nothing to draft"},
		{"no draft any longer", labSession, "GET", "/report/971000/critical/records", "", 200, `"attempted_callout":{},"suppressed":[]}`},
		{"force", labSession, "POST", save, strings.Replace(complete(971001), "{", `{"force":true,`, 1), 200, `"CALLOUT_DONE"`},
		{"history", labSession, "GET", "/api-v3/report/bulk/critical-notification/logs?report_ids=971001", "", 200, `"meta":{"is_draft":true,"method":"email","new":{"criticalValues":"CALLOUT_ATTEMPTED"},"old":{"criticalValues":"CALLOUT_PENDING"},"recipients":"Organization"}`},
		{"another laboratory's history", otherSession, "GET", "/report/bulk/critical-notification/logs?report_ids=971001", "", 200, `{"logs":[]}`},
		{"audit", labSession, "POST", "/operation/critical-callout", `{"lab_report_ids":[971002,971001]}`, 200, `"lab_report_id":971001,"bill_id":971000,"org_name":"Sanjeevani Hospital","patient_name":"Rahul Sharma","referral_name":"Dr Meera Kulkarni","performed_by_user_name":"Asha Ranade","performed_by_doctor_name":"","critical_callout_comment":"told"`},
		{"what the call was", labSession, "POST", "/operation/critical-callout", `{"lab_report_ids":[971002,971001]}`, 200, `"critical_callout_meta":{"callout_for":[66],"communication_methods":["call"],"forced":true,"notified_at":"` + told + `","notified_person":"Dr Rao","outcome":"confirmed","performed_by":"Asha Ranade","read_back":true}`},
		{"another laboratory's audit", otherSession, "POST", "/operation/critical-callout", `{"lab_report_ids":[971001]}`, 200, `{"records":[]}`},
		{"a doctor completes", "demo-pathologist", "POST", save, complete(971002), 200, `"CALLOUT_DONE"`},
		{"the doctor's name", labSession, "POST", "/operation/critical-callout", `{"lab_report_ids":[971002]}`, 200, `"performed_by_user_name":"","performed_by_doctor_name":"Dr Meera Kulkarni"`},
		{"evaluate from outside", labSession, "POST", "/report/971000/critical/evaluate", `{"lab_id":12}`, 404, `"code":404`},
		{"open", labSession, "GET", "/operation/critical-callout/open", "", 200, `{"open":[`},
		{"summary", labSession, "GET", "/operation/critical-callout/summary?from=2026-01-01", "", 200, `"median_minutes_to_callout":`},
		{"a summary of nonsense", labSession, "GET", "/operation/critical-callout/summary?from=soon", "", 400, "from must be an ISO date"},
		{"settings", labSession, "GET", "/operation/critical-callout/settings", "", 200, `{"escalate_minutes":30,"escalate_most":3,"read_back_needed":true,"repeat_within_hours":0,"remind_hours":8,"may_change":false}`},
		{"settings that silence", "demo-admin", "PUT", "/operation/critical-callout/settings", `{"escalate_minutes":100000}`, 400, "escalate_minutes must be 1 to 1440"},
		{"settings of a user", labSession, "PUT", "/operation/critical-callout/settings", `{}`, 403, "administrators"},
		{"open for an organisation", "demo-organization", "GET", "/operation/critical-callout/open", "", 403, `"code":403`},
	}
	for _, s := range steps {
		got := call(t, s.session, s.method, s.path, s.body)
		if got.status != s.status || (!strings.Contains(got.body, s.want) && !strings.Contains(got.sorted(t), s.want)) {
			t.Errorf("%s: %d %s\nwant %d with %s", s.name, got.status, got.body, s.status, s.want)
		}
	}
}

// TestCalloutDepartments checks every row of the documented table of sessions.
func TestCalloutDepartments(t *testing.T) {
	t.Parallel()
	newCriticalBill(t, 972000, 1, 2)
	const electrolytes, count = "972001 CALLOUT_PENDING", "972002 CALLOUT_DONE"
	applyFixture(t, `{"sessions":[
		{"id":"callout-doctor-5","session_type":"doctor","lab_id":12,"doctor_id":302,"doc_type":0,"department_ids":[4]},
		{"id":"callout-doctor-own","session_type":"doctor","lab_id":12,"doctor_id":301,"doc_type":2,"department_ids":[]},
		{"id":"callout-doctor-other","session_type":"doctor","lab_id":12,"doctor_id":302,"doc_type":2,"department_ids":[4,5]},
		{"id":"callout-doctor-odd","session_type":"doctor","lab_id":12,"doctor_id":302,"doc_type":1,"department_ids":[4,5]},
		{"id":"callout-doctor-none","session_type":"doctor","lab_id":12,"doctor_id":301,"department_ids":[]},
		{"id":"callout-user-4","session_type":"lab_user","lab_id":12,"lab_user_id":77,"department_data_type":0,"department_ids":[4]},
		{"id":"callout-user-empty","session_type":"lab_user","lab_id":12,"lab_user_id":77,"department_data_type":0,"department_ids":[]},
		{"id":"callout-user-relation","session_type":"lab_user","lab_id":12,"lab_user_id":78,"department_data_type":1,"department_ids":[5]},
		{"id":"callout-user-odd","session_type":"lab_user","lab_id":12,"lab_user_id":78,"department_data_type":7,"department_ids":[5]}]}`)
	for session, want := range map[string][]string{
		"callout-doctor-5":      {electrolytes},        // docType 0: the doctor's departments, not the session's
		"callout-doctor-own":    {electrolytes, count}, // docType 2: bills of this doctor
		"callout-doctor-other":  nil,
		"callout-doctor-odd":    nil,                   // another docType: as docType 2
		"callout-doctor-none":   {electrolytes, count}, // no docType: as docType 2
		"callout-user-4":        {count},               // departmentDataType 0: the session's list
		"callout-user-empty":    nil,                   // an empty list means no reports, not all reports
		"callout-user-relation": {count},               // departmentDataType 1: the user's departments, not the session's
		"callout-user-odd":      {electrolytes},        // other departmentDataType: as 0
		"demo-support":          {electrolytes, count},
	} {
		if got := states(t, session, 972000); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s sees %v, want %v", session, got, want)
		}
	}
}

// TestCalloutFilters checks which reports the documented filters leave out.
func TestCalloutFilters(t *testing.T) {
	t.Parallel()
	newCriticalBill(t, 973000, 0, 4)
	applyFixture(t, `{"mysql":{"labReportRelation":[
		{"id":973010,"labId_id":12,"billId_id":973000,"userDetailsId_id":501,"reportID_id":66,"sampleCollected":1,"criticalValues":1,"dismissed":1},
		{"id":973011,"labId_id":12,"billId_id":973000,"userDetailsId_id":501,"reportID_id":66,"sampleCollected":0,"criticalValues":1},
		{"id":973012,"labId_id":12,"billId_id":973000,"userDetailsId_id":501,"reportID_id":66,"sampleCollected":1,"criticalValues":3},
		{"id":973013,"labId_id":13,"billId_id":973000,"userDetailsId_id":501,"reportID_id":66,"sampleCollected":1,"criticalValues":1}],
		"reportValues":[{"labReportId_id":973010,"index":2,"order":2,"value":"7.1"},{"labReportId_id":973011,"index":2,"order":2,"value":"7.1"},
		{"labReportId_id":973012,"index":2,"order":2,"value":"7.1"},{"labReportId_id":973013,"index":2,"order":2,"value":"7.1"}],
		"CriticalCallout":[{"lab_id":12,"bill_id":973000,"recipients":["Org"],"critical_callout_comment":"","critical_values_meta":{"973002":{"a":1},"973001":{"b":2}},"critical_callout_meta":{"communication_methods":["sms"],"callout_for":[55,66]}}]}}`)
	if got := states(t, "demo-support", 973000); fmt.Sprint(got) != "[973002 CALLOUT_ATTEMPTED]" {
		t.Errorf("listed: %v", got)
	}
	meta := func(session string) string {
		text, _ := json.Marshal(records(t, session, 973000)["attempted_callout"].(map[string]any)["critical_values_meta"])
		return string(text)
	}
	if got := meta("demo-support"); got != `{"973001":{"b":2},"973002":{"a":1}}` {
		t.Errorf("support sees of the draft: %s", got)
	}
	if got := meta("demo-lab-user-department"); got != `{"973002":{"a":1}}` { // department 4 only
		t.Errorf("department 4 sees of the draft: %s", got)
	}
	if got := records(t, "demo-doctor", 973000)["attempted_callout"]; fmt.Sprint(got) != "map[]" { // department 5: none
		t.Errorf("department 5 sees of the draft: %v", got)
	}
}

// TestCalloutLogsAreTheNewestThousandInOrder checks the log in the presence of entries of other categories and
// laboratories, and of entries without a meta.
func TestCalloutLogsAreTheNewestThousandInOrder(t *testing.T) {
	t.Parallel()
	var rows []string // no ids: services insert into the table concurrently
	for i := range 1005 {
		rows = append(rows, fmt.Sprintf(`{"lab_id":12,"category":648,"labReportId":974001,"labUserName":"u","activityText":"n%d","meta":null,"activityDate":"2026-10-01T%02d:%02d:00Z"}`,
			i, 1+i/60, i%60))
	}
	rows = append(rows, `{"lab_id":12,"category":980,"labReportId":974001,"labUserName":"u","activityText":"another category","activityDate":"2026-11-01T00:00:00Z"}`,
		`{"lab_id":13,"category":648,"labReportId":974001,"labUserName":"u","activityText":"another laboratory","activityDate":"2026-11-01T00:00:00Z"}`)
	applyFixture(t, `{"mysql":{"ActivityLog":[`+strings.Join(rows, ",")+`]}}`)
	logs := call(t, labSession, "GET", "/report/bulk/critical-notification/logs?report_ids=974001", "").json(t)["logs"].([]any)
	first, last := logs[0].(map[string]any), logs[len(logs)-1].(map[string]any)
	if len(logs) != 1000 || first["activityText"] != "n5" || last["activityText"] != "n1004" || last["activityDate"] != "2026-10-01T17:44:00Z" || fmt.Sprint(last["meta"]) != "map[]" {
		t.Errorf("%d entries from %v to %v", len(logs), first, last)
	}
}

// TestCalloutOneOfTwoUsersWins lets two users complete the same report concurrently; only one may succeed.
func TestCalloutOneOfTwoUsersWins(t *testing.T) {
	t.Parallel()
	newCriticalBill(t, 975000, 1, 1)
	const body = `{"lab_report_ids":[975001],"recipients":["a"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`
	const writers = 8
	answers := make([]answer, writers)
	ctx := t.Context()
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			answers[i], _ = send(ctx, stack.Endpoints.Gateway, labSession, "POST", "/report/975000/critical/callout", body)
		})
	}
	all.Wait()
	won := 0
	for _, a := range answers {
		switch a.status {
		case http.StatusOK:
			won++
		case http.StatusConflict:
		default:
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if rows := count(t, "SELECT COUNT(*) FROM CriticalCallout WHERE lab_report_id = 975001"); won != 1 || rows != 1 {
		t.Errorf("%d won, %d rows", won, rows)
	}
}

func count(t *testing.T, query string) (n int) {
	t.Helper()
	queryRow(t, query).scan(&n)
	return n
}

// TestCalloutFromAnInstrumentToTheCall follows a critical result without its notifications: an instrument's critical
// value is confirmed, the report waits on the board, and a callout ends the wait and cancels the job of the queue.
func TestCalloutFromAnInstrumentToTheCall(t *testing.T) {
	t.Parallel()
	newCriticalBill(t, 976000, 0, 0)
	const report = "/api-v3/sample-rerun/976001/"
	for _, step := range []struct{ path, body string }{
		{"request", `{"type":"Manual","rerun_number":"1","requested_parameters":"[2]","is_active":true,"lab_id":12}`},
		{"new", `{"lab_id":12,"sample_id":"E2E-976001","device_id":"AU-1","device_name":"AU480","rerun_type":"manual_rerun","rerun_number":1,"lab_report_id":976001,"device_data":[{"index":2,"value":"7.4"}]}`},
		{"confirm", `{"rerun_confirmed_data":[{"profileTestId":0,"value":"7.4","order":2,"index":2,"highlight":1,"automatedValue":1,"reportForId_id":976001,"parameter_name":"Potassium"}]}`},
	} {
		if got := call(t, labSession, "POST", report+step.path, step.body); got.status != http.StatusOK {
			t.Fatalf("%s: got %d %s, want status 200", step.path, got.status, got.body)
		}
	}
	await.Nil(t, "the report waits", func() error {
		if got := states(t, labSession, 976000); fmt.Sprint(got) != "[976001 CALLOUT_PENDING]" {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	await.True(t, "the queue has the escalation's job", func() bool {
		return count(t, "SELECT COUNT(*) FROM callout_escalation WHERE bill_id = 976000 AND job_id <> ''") == 1
	})
	if n := count(t, "SELECT COUNT(*) FROM outbox_callout WHERE aggregate = 'bill:976000' AND kind = 'notifications.notify'"); n > 1 {
		t.Errorf("%d notices", n)
	}
	again := evaluateBill(t, 976000) // the blood count was not evaluated before
	if again.status != http.StatusOK || !strings.Contains(again.body, `{"lab_report_id":976001,"criticalValues":"CALLOUT_PENDING"},{"lab_report_id":976002,"criticalValues":"CALLOUT_PENDING"},{"lab_report_id":976003,"criticalValues":"NORMAL"}`) {
		t.Fatalf("evaluate: %d %s", again.status, again.body)
	}
	got := call(t, labSession, "POST", "/report/976000/critical/callout", `{"lab_report_ids":[976001,976002],"recipients":["Referral Doctor"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`)
	if got.status != http.StatusOK {
		t.Fatalf("callout: %d %s", got.status, got.body)
	}
	await.True(t, "the job is cancelled", func() bool {
		return count(t, "SELECT COUNT(*) FROM callout_escalation WHERE bill_id = 976000 AND job_id = ''") == 1
	})
	if again := evaluateBill(t, 976000); !strings.Contains(again.body, `{"lab_report_id":976001,"criticalValues":"CALLOUT_DONE"}`) {
		t.Errorf("the same values open the callout again: %s", again.body)
	}
	applyFixture(t, `{"mysql":{"reportValues":[{"labReportId_id":976001,"index":2,"order":2,"parameter_name":"Potassium","value":"7.9"}]}}`)
	if again := evaluateBill(t, 976000); !strings.Contains(again.body, `{"lab_report_id":976001,"criticalValues":"CALLOUT_PENDING"}`) {
		t.Errorf("another critical value does not open the callout again: %s", again.body)
	}
}
