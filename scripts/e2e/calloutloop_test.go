package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// hurry runs callout with short deadlines, and with at most this many escalations per report, until the test ends.
func hurry(t *testing.T, most string, more ...string) map[string]string {
	t.Helper()
	return replaceUntilTheEnd(t, "callout", append(more, "CALLOUT_ESCALATE_AFTER", "4s", "CALLOUT_ESCALATE_MOST", most,
		"CALLOUT_REAP_INTERVAL", "3s")...)
}

// replaceUntilTheEnd runs a service with changed settings until the test ends. settings alternates names and values.
func replaceUntilTheEnd(t *testing.T, service string, settings ...string) (change map[string]string) {
	t.Helper()
	change = map[string]string{}
	for i := 0; i < len(settings); i += 2 {
		change[settings[i]] = settings[i+1]
	}
	replace := func(change map[string]string) {
		if err := stack.Stop(service); err != nil {
			t.Fatal(err)
		}
		startReached(t, service, change)
	}
	replace(change)
	t.Cleanup(func() { replace(nil) }) // back before the next test calls it
	return change
}

// reads are paths to which the services respond with 200.
var reads = map[string]string{
	"callout": "/operation/critical-callout/settings", "notifications": notificationsPath + "all?limit=1", "rerun": "/api-v3/sample-rerun/7001",
}

// startReached starts a service and waits until the gateway reaches it, which may be a moment after the service is
// ready.
func startReached(t *testing.T, service string, change map[string]string) {
	t.Helper()
	startReady(t, service, change)
	path, ok := reads[service]
	if !ok {
		return
	}
	await.Nil(t, service+" behind the gateway", func() error {
		ctx := context.WithoutCancel(t.Context()) // not cancelled at the end of a test
		got, err := send(ctx, stack.Endpoints.Gateway, labSession, "GET", path, "")
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		return err
	})
}

// insist repeats a request until its status is 200, or 409, which means that an earlier one whose response was lost
// succeeded. It returns the id of the last request.
func insist(t *testing.T, path, body string) (requestID string) {
	t.Helper()
	await.Nil(t, path, func() error {
		got, err := send(t.Context(), stack.Endpoints.Gateway, labSession, "POST", path, body)
		if err == nil && got.status != http.StatusOK && got.status != http.StatusConflict {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		requestID = got.header.Get("X-Request-Id")
		return err
	})
	return requestID
}

// criticalFromAnInstrument makes an instrument report a critical potassium of a bill, and a user confirm it. It returns
// the id of the confirming request.
func criticalFromAnInstrument(t *testing.T, bill int) (confirmed string) {
	t.Helper()
	wantUnused(t, bill)
	applyFixture(t, fmt.Sprintf(`{"mysql":{
		"billing":[{"id":%[1]d,"labId_id":12,"labBillId":%[1]d,"orderNumber":"E2E","userDetailsId_id":501,"orgId_id":45,"docId_id":301}],
		"billingInfo":[{"id":%[1]d,"billId_id":%[1]d,"labId_id":12,"testId_id":66}],
		"labReportRelation":[{"id":%[2]d,"labId_id":12,"billId_id":%[1]d,"billingInfoId_id":%[1]d,"userDetailsId_id":501,"reportID_id":66,"orgId_id":45,"sampleId":"E2E-%[2]d","sampleCollected":1}],
		"reportValues":[{"labReportId_id":%[2]d,"index":2,"order":2,"parameter_name":"Potassium","value":"4.1"}]}}`, bill, bill+1))
	report := fmt.Sprintf("/api-v3/sample-rerun/%d/", bill+1)
	insist(t, report+"request", `{"type":"Manual","rerun_number":"1","requested_parameters":"[2]","is_active":true,"lab_id":12}`)
	insist(t, report+"new", fmt.Sprintf(`{"lab_id":12,"sample_id":"E2E-%d","device_id":"AU-1","device_name":"AU480","rerun_type":"manual_rerun","rerun_number":1,"lab_report_id":%[1]d,"device_data":[{"index":2,"value":"7.4"}]}`, bill+1))
	return insist(t, report+"confirm", fmt.Sprintf(`{"rerun_confirmed_data":[{"profileTestId":0,"value":"7.4","order":2,"index":2,"highlight":1,"automatedValue":1,"reportForId_id":%d,"parameter_name":"Potassium"}]}`, bill+1))
}

// logEntry is an entry of a report's history.
type logEntry struct {
	Meta map[string]any `json:"meta"` // decoded, because MySQL stores JSON in another order
	Text string         `json:"activityText"`
}

// callLog returns the entry at an index of a report's history, or the zero entry.
func callLog(t *testing.T, report, at int) logEntry {
	t.Helper()
	got := call(t, labSession, "GET", fmt.Sprint("/report/bulk/critical-notification/logs?report_ids=", report), "")
	var history struct{ Logs []logEntry }
	if err := json.Unmarshal([]byte(got.body), &history); err != nil {
		t.Fatalf("%v: got %s, want no error", err, got.body)
	}
	if at >= len(history.Logs) {
		return logEntry{}
	}
	return history.Logs[at]
}

// noticesOf returns the number of notifications about a bill: of the result, and of its escalations.
func noticesOf(t *testing.T, bill int) (first, escalations int) {
	t.Helper()
	const of = "SELECT COUNT(*) FROM Notifications WHERE lab_id = 12 AND notification_type_id = 2 AND JSON_VALUE(context, '$.bill_id') = %d AND JSON_VALUE(context, '$.escalation') %s 0"
	return count(t, fmt.Sprintf(of, bill, "=")), count(t, fmt.Sprintf(of, bill, ">"))
}

func awaitNotices(t *testing.T, bill, wantFirst, wantEscalations int) {
	t.Helper()
	await.Nil(t, fmt.Sprintf("%d notices and %d escalations of bill %d", wantFirst, wantEscalations, bill), func() error {
		first, escalations := noticesOf(t, bill)
		if first < wantFirst || escalations < wantEscalations {
			return fmt.Errorf("%d notices, %d escalations", first, escalations)
		}
		return nil
	})
}

// TestCalloutLoop runs a critical result through all its steps with real processes, and prints the times.
func TestCalloutLoop(t *testing.T) {
	hurry(t, "1")
	const bill = 977000
	begin := time.Now()
	note := func(what string) { t.Logf("%6.1f s  %s", time.Since(begin).Seconds(), what) }
	criticalFromAnInstrument(t, bill)
	note("an instrument's potassium of 7.4 is confirmed")
	await.Nil(t, "the report waits", func() error {
		if got := states(t, labSession, bill); fmt.Sprint(got) != "[977001 CALLOUT_PENDING]" {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	note("the report is CALLOUT_PENDING")
	awaitNotices(t, bill, 1, 0)
	for _, topic := range []string{"org_45", "doctor_301", "lab_12"} { // the organisation, the referring doctor, the laboratory
		await.True(t, "the push to "+topic, func() bool {
			got := callAt(t, strings.TrimSuffix(stack.Endpoints.TaskqueueOutbox, "/outbox/"), "", "GET", "/outbox/messages?channel=push", "")
			return strings.Contains(got.body, "IN_notification_type_2_"+topic)
		})
	}
	inbox := call(t, "demo-organization", "GET", notificationsPath+"all?limit=100", "").body
	if !strings.Contains(inbox, `"bill_id":977000`) && !strings.Contains(inbox, `"bill_id": 977000`) {
		t.Errorf("the organisation's inbox does not tell of it: %s", inbox)
	}
	if other := call(t, otherSession, "GET", notificationsPath+"all", ""); strings.Contains(other.body, "977000") {
		t.Error("another laboratory's inbox has the notice")
	}
	note("notification of type 2 in the organisation's inbox")
	note("the pushes to organisation, referring doctor and laboratory are in the mailbox")
	awaitNotices(t, bill, 1, 1)
	note("no one called: escalated")
	if inbox := call(t, "demo-organization", "GET", notificationsPath+"all?limit=100", "").body; strings.Contains(inbox, "waits for a call") {
		t.Errorf("the organisation hears of the laboratory's own delay: %s", inbox)
	}
	got := call(t, labSession, "POST", "/report/977000/critical/callout", `{"lab_report_ids":[977001],"recipients":["Referral Doctor"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`)
	if got.status != http.StatusOK || !strings.Contains(got.body, "CALLOUT_DONE") {
		t.Fatalf("callout: %d %s", got.status, got.body)
	}
	note("called out with read-back: CALLOUT_DONE")
	await.True(t, "no deadline is left and the job is cancelled", func() bool {
		return count(t, "SELECT COUNT(*) FROM callout_escalation WHERE bill_id = 977000 AND job_id = ''") == 1
	})
	escalated, called := callLog(t, 977001, 1), callLog(t, 977001, 2)
	if escalated.Meta["escalation"] != 1.0 || called.Meta["read_back"] != true || called.Text != "Critical callout completed" {
		t.Errorf("the history: %v, %v", escalated, called)
	}
	if other := call(t, otherSession, "POST", "/operation/critical-callout", `{"lab_report_ids":[977001]}`); other.body != `{"records":[]}` {
		t.Errorf("another laboratory sees %s", other.body)
	}
	note("history and audit show it, another laboratory sees nothing")
	if first, escalations := noticesOf(t, bill); first != 1 || escalations != 1 {
		t.Errorf("%d notices, %d escalations", first, escalations)
	}
}

// TestCalloutOfASecondResult is a scenario of one bill: its potassium is escalated to the end, then its haemoglobin
// becomes critical and has all escalations of its own. The potassium is called, and turns out to be wrong.
func TestCalloutOfASecondResult(t *testing.T) {
	hurry(t, "1")
	const bill = 977500
	begin := time.Now()
	note := func(what string) { t.Logf("%6.1f s  %s", time.Since(begin).Seconds(), what) }
	value := func(report, index int, text string) {
		t.Helper()
		applyFixture(t, fmt.Sprintf(`{"mysql":{"reportValues":[{"labReportId_id":%d,"index":%d,"order":%[2]d,"value":%[3]q}]}}`, report, index, text))
		if got := evaluateBill(t, bill); got.status != http.StatusOK {
			t.Fatalf("got %d %s, want status 200", got.status, got.body)
		}
	}
	newCriticalBill(t, bill, 0, 0)
	applyFixture(t, fmt.Sprintf(`{"mysql":{"reportValues":[{"labReportId_id":%d,"index":1,"order":1,"value":"14"}]}}`, bill+2))
	value(bill+1, 2, "7.9 mmol/L*")
	note("potassium 7.9 mmol/L* is critical")
	awaitNotices(t, bill, 1, 1)
	note("no one called: escalated for the last time")
	value(bill+2, 1, "5.9")
	awaitNotices(t, bill, 2, 1)
	note("haemoglobin 5.9 of the same bill is critical, and announced")
	const body = `{"lab_report_ids":[%d],"recipients":["Referral Doctor"],"communication_methods":["call"],"read_back":%t,"notified_person":"Dr Rao","force":%t}`
	save := func(report int, readBack, force bool, want string) {
		t.Helper()
		got := call(t, labSession, "POST", fmt.Sprintf("/report/%d/critical/callout", bill), fmt.Sprintf(body, report, readBack, force))
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Fatalf("callout: %d %s", got.status, got.body)
		}
	}
	save(bill+1, false, false, "CALLOUT_ATTEMPTED")
	note("potassium told, not read back: CALLOUT_ATTEMPTED")
	save(bill+1, true, false, "CALLOUT_DONE")
	note("potassium told and read back: CALLOUT_DONE")
	awaitNotices(t, bill, 2, 2)
	note("no one called the haemoglobin: escalated")
	value(bill+1, 2, "4.1")
	awaitNotices(t, bill, 3, 2)
	note("potassium corrected to 4.1: all who were told are told")
	save(bill+1, true, true, "CALLOUT_DONE")
	entry := callLog(t, bill+1, 5)
	if entry.Meta["corrected"] != true {
		t.Errorf("the history's last entry is %v", entry)
	}
	value(bill+2, 1, "Haemolysed")
	save(bill+2, true, false, "CALLOUT_DONE")
	note("haemoglobin became unreadable, and its call is recorded")
}

// TestCalloutLoopSurvivesKills kills one of the four services or the database at a random moment, and starts it again,
// while earlier results escalate. Each critical result must be announced once and, before it is called, escalated twice.
func TestCalloutLoopSurvivesKills(t *testing.T) {
	runs := 5
	if os.Getenv("LAB_LONG_TESTS") != "" {
		runs = 50
	}
	change := hurry(t, "2")
	victims := []string{"rerun", "callout", "notifications", "taskqueue", "mysql"}
	random := rand.New(rand.NewPCG(13, 6))
	whats := map[int]string{} // what happened to each bill
	for run := range runs {
		bill := 978000 + 10*run
		victim, moment := victims[run%len(victims)], time.Duration(random.IntN(5000))*time.Millisecond
		var env map[string]string
		switch victim {
		case "callout":
			env = change
		case "mysql":
			moment += time.Second // by then the fixture is stored
		}
		restarted := make(chan error, 1)
		time.AfterFunc(moment, func() {
			err := stack.Kill(victim)
			if err == nil {
				err = stack.Start(victim, env)
			}
			restarted <- err
		})
		criticalFromAnInstrument(t, bill)
		if err := <-restarted; err != nil {
			t.Fatal(err)
		}
		await.Nil(t, "the database", func() error { return openMySQL(t).PingContext(t.Context()) })
		whats[bill] = fmt.Sprintf("run %2d: %s killed after %v", run, victim, moment)
	}
	for _, bill := range slices.Sorted(maps.Keys(whats)) {
		calledAfterTwoEscalations(t, bill, whats[bill])
	}
}

// engineLinks starts the four services again, each with a link to the engine that holds its state. It returns the links
// by service.
func engineLinks(t *testing.T) map[string]*netfault.Link {
	t.Helper()
	links := map[string]*netfault.Link{}
	through := func(service, variable string) []string {
		own := stack.Endpoints.Environ[service]
		links[service] = netfault.New(t, net.JoinHostPort(own[variable+"_HOST"], own[variable+"_PORT"]))
		return []string{variable + "_HOST", "127.0.0.1", variable + "_PORT", fmt.Sprint(links[service].Port())}
	}
	hurry(t, "2", through("callout", "CALLOUT_DB")...)
	for service, variable := range map[string]string{
		"rerun": "RERUN_DB", "notifications": "NOTIFICATIONS_DB", "taskqueue": "TASKQUEUE_REDIS",
	} {
		replaceUntilTheEnd(t, service, through(service, variable)...)
	}
	return links
}

// TestCalloutLoopSurvivesSilence makes the network between one of the four services and the engine with its state
// silent for some seconds; then it delivers everything. Each critical result must be announced once, escalated twice,
// and called.
func TestCalloutLoopSurvivesSilence(t *testing.T) {
	runs := 4
	if os.Getenv("LAB_LONG_TESTS") != "" {
		runs = 50
	}
	links := engineLinks(t)
	silenced := []string{"callout", "notifications", "rerun", "taskqueue"}
	random := rand.New(rand.NewPCG(14, 2))
	whats := map[int]string{}
	for run := range runs {
		bill := 976500 + 10*run
		service := silenced[run%len(silenced)]
		moment, silence := time.Duration(random.IntN(5000))*time.Millisecond, time.Duration(1000+random.IntN(6000))*time.Millisecond
		passed := make(chan struct{})
		time.AfterFunc(moment, func() {
			links[service].Silence()
			time.AfterFunc(silence, func() {
				links[service].Restore()
				close(passed)
			})
		})
		criticalFromAnInstrument(t, bill)
		<-passed
		whats[bill] = fmt.Sprintf("run %2d: %s heard nothing for %v after %v", run, service, silence, moment)
	}
	for _, bill := range slices.Sorted(maps.Keys(whats)) {
		calledAfterTwoEscalations(t, bill, whats[bill])
	}
}

// calledAfterTwoEscalations waits for the notice and both escalations, records a call, and checks that nothing happened
// twice.
func calledAfterTwoEscalations(t *testing.T, bill int, what string) {
	t.Helper()
	escalations := func(level int) int {
		return count(t, fmt.Sprintf("SELECT COUNT(*) FROM Notifications WHERE lab_id = 12 AND notification_type_id = 2 AND JSON_VALUE(context, '$.bill_id') = %d AND JSON_VALUE(context, '$.escalation') = %d", bill, level))
	}
	awaitNotices(t, bill, 1, 1)
	await.True(t, "the second escalation", func() bool { return escalations(2) > 0 })
	insist(t, fmt.Sprintf("/report/%d/critical/callout", bill), fmt.Sprintf(`{"lab_report_ids":[%d],"recipients":["a"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`, bill+1))
	await.True(t, "the job is cancelled", func() bool {
		return count(t, fmt.Sprintf("SELECT COUNT(*) FROM callout_escalation WHERE bill_id = %d AND job_id = ''", bill)) == 1
	})
	first, all := noticesOf(t, bill)
	// The notice of the first escalation is not sent if it is delayed until the second one.
	if one, two := escalations(1), escalations(2); first != 1 || one > 1 || two != 1 || all != one+two {
		t.Fatalf("%s: %d notices, %d first and %d second of %d escalations", what, first, one, two, all)
	}
	for at, level := range []float64{1, 2} {
		if entry := callLog(t, bill+1, at+1); entry.Meta["escalation"] != level {
			t.Errorf("%s: entry %d of the history is %v, want escalation %v", what, at+1, entry, level)
		}
	}
	t.Logf("%s: announced once, escalated twice, called", what)
}
