package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// values returns the body of POST …/new for a report of newReport.
func values(id, number int, deviceData string) string {
	return fmt.Sprintf(`{"lab_id":12,"sample_id":"E2E-%d","device_id":"XN-1","device_name":"Sysmex XN-1000","rerun_type":"manual_rerun","rerun_number":%d,`+
		`"lab_report_id":%d,"device_data":[%s]}`, id, number, id, deviceData)
}

// stored returns the sampleRedrawFlag of a report, and its rerun values as "number:index=value".
func stored(t *testing.T, id int) (flag float64, reruns []string) {
	t.Helper()
	list := call(t, labSession, "GET", fmt.Sprintf("/api-v3/sample-rerun/%d", id), "")
	body := list.json(t)
	for _, row := range body["reruns"].([]any) {
		v := row.(map[string]any)
		reruns = append(reruns, fmt.Sprintf("%v:%v=%v", v["rerun_number"], v["index"], v["value"]))
	}
	flag, _ = body["sampleRedrawFlag"].(float64)
	return flag, reruns
}

func expectStored(t *testing.T, id int, flag float64, reruns ...string) {
	t.Helper()
	gotFlag, got := stored(t, id)
	if gotFlag != flag || fmt.Sprint(got) != fmt.Sprint(reruns) {
		t.Fatalf("flag %v, values %v; want %v and %v", gotFlag, got, flag, reruns)
	}
}

// accept calls an operation and expects status 200 with the message.
func accept(t *testing.T, id int, operation, body, message string) map[string]any {
	t.Helper()
	got := call(t, labSession, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/%s", id, operation), body)
	if got.status != http.StatusOK || got.json(t)["message"] != message {
		t.Fatalf("%s: got %d %s, want status 200", operation, got.status, got.body)
	}
	return got.json(t)
}

// reportValues returns the report's values in the database, ordered by index.
func reportValues(t *testing.T, id int) []string {
	t.Helper()
	return queryTexts(t, "SELECT CONCAT(`index`, '=', value) FROM reportValues WHERE labReportId_id = ? ORDER BY `index`", id)
}

// archive returns the metas of the report's log entries of a category.
func archive(t *testing.T, id, category int) []string {
	t.Helper()
	return queryTexts(t, "SELECT meta FROM ActivityLog WHERE labReportId = ? AND category = ? ORDER BY id", id, category)
}

// TestAManualRerunFromRequestToConfirm runs the second walk-through of the README.
func TestAManualRerunFromRequestToConfirm(t *testing.T) {
	t.Parallel()
	const id = 97101
	newReport(t, id)
	requested := accept(t, id, "request", `{"type":"Manual","rerun_number":"1","requested_parameters":"[1, 2, 3]","is_active":true,"lab_id":12}`,
		"Manual Sample rerun requested successfully")
	if requested["rerun_number"] != 1.0 || requested["sampleRedrawFlag"] != 3.0 {
		t.Fatalf("%v", requested)
	}
	first := accept(t, id, "new", values(id, 1, `{"index":1,"value":"6.1","parameter_name":"Haemoglobin"},{"index":2,"value":4.7},{"index":9,"value":"60"}`), "Rerun data updated")
	if first["type"] != "manual triggered" || first["fulfilled"] != false || fmt.Sprint(first["accepted_parameters"]) != "[1 2]" ||
		fmt.Sprint(first["rejected_parameters"]) != "[9]" || fmt.Sprint(first["pending_parameters"]) != "[3]" {
		t.Fatalf("%v", first)
	}
	// Values may be delivered again.
	accept(t, id, "new", values(id, 1, `{"index":1,"value":"6.1"},{"index":2,"value":4.7}`), "Rerun data updated")
	expectStored(t, id, 3, "1:1=6.1", "1:2=4.7")
	second := accept(t, id, "new", values(id, 1, `{"index":3,"value":"7.3"}`), "Rerun data updated")
	if second["fulfilled"] != true || second["sampleRedrawFlag"] != 4.0 {
		t.Fatalf("%v", second)
	}
	expectStored(t, id, 4, "1:1=6.1", "1:2=4.7", "1:3=7.3")
	confirmed := `{"rerun_confirmed_data":[{"profileTestId":0,"value":"6.1","order":1,"index":1,"highlight":1,"automatedValue":1,"reportForId_id":97101,"parameter_name":"Haemoglobin"}]}`
	accept(t, id, "confirm", confirmed, "Rerun data updated")
	expectStored(t, id, 0)
	if got := reportValues(t, id); fmt.Sprint(got) != "[1=6.1]" {
		t.Fatalf("report values %v", got)
	}
	entries := archive(t, id, 980)
	if len(entries) != 1 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, part := range []string{`"rerun_id"`, `"rerun_number"`, `"old"`, `"new"`, `"rerun_values"`, `"6.1"`, `"4.7"`, `"7.3"`, "Sysmex XN-1000"} {
		if !strings.Contains(entries[0], part) {
			t.Errorf("the archive lacks %s: %s", part, entries[0])
		}
	}
	again := call(t, labSession, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/confirm", id), confirmed)
	if again.status != http.StatusConflict || again.json(t)["message"] != "No open sample rerun" {
		t.Fatalf("a second confirm: %d %s", again.status, again.body)
	}
}

func TestAnInstrumentOnItsOwnThenAnAbort(t *testing.T) {
	t.Parallel()
	const id = 97102
	newReport(t, id)
	got := accept(t, id, "new", values(id, -1, `{"index":1,"value":"6.1"}`), "Rerun data updated")
	if got["type"] != "instrument triggered" || got["sampleRedrawFlag"] != 4.0 {
		t.Fatalf("%v", got)
	}
	accept(t, id, "new", values(id, -1, `{"index":1,"value":"6.1"}`), "Rerun data updated")
	accept(t, id, "new", values(id, -1, `{"index":1,"value":"6.2"}`), "Rerun data updated")
	expectStored(t, id, 4, "1:1=6.1", "2:1=6.2")
	accept(t, id, "abort", "", "Successfully aborted sample rerun")
	expectStored(t, id, 0)
	if entries := archive(t, id, 985); len(entries) != 1 || !strings.Contains(entries[0], "6.2") {
		t.Fatalf("%v", entries)
	}
	again := call(t, labSession, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/abort", id), "")
	if again.status != http.StatusConflict || again.json(t)["message"] != "No open sample rerun" {
		t.Fatalf("a second abort: %d %s", again.status, again.body)
	}
}

// TestAnAutomaticRerunFromInstrumentToConfirm follows a critical value until its rerun is confirmed.
func TestAnAutomaticRerunFromInstrumentToConfirm(t *testing.T) {
	t.Parallel()
	const id = 97103
	newReport(t, id)
	accept(t, id, "new", values(id, -1, `{"index":2,"value":"4.7"}`), "Rerun data updated") // number 1 is in use
	accept(t, id, "auto", `{"device_data":[{"index":1,"value":"5.9"}]}`, "Auto rerun queued successfully")
	await.Nil(t, "the rerun request", func() error {
		if flag, reruns := stored(t, id); flag != 3 {
			return fmt.Errorf("flag %v, values %v", flag, reruns)
		}
		return nil
	})
	list := call(t, labSession, "GET", fmt.Sprintf("/api-v3/sample-rerun/%d", id), "").json(t)
	pending := list["pending_requests"].([]any)[0].(map[string]any)
	if pending["type"] != "Auto" || pending["rerun_number"] != 2.0 {
		t.Fatalf("%v", pending)
	}
	accept(t, id, "new", values(id, 2, `{"index":1,"value":"6.0"}`), "Rerun data updated")
	expectStored(t, id, 4, "1:2=4.7", "2:1=6.0")
	accept(t, id, "confirm", `{"rerun_confirmed_data":[{"index":1,"value":"6.0"}]}`, "Rerun data updated")
	expectStored(t, id, 0)
	if got := reportValues(t, id); fmt.Sprint(got) != "[1=6.0]" {
		t.Fatalf("report values %v", got)
	}
}

func TestBadRerunInputIsRefusedAndStoresNothing(t *testing.T) {
	t.Parallel()
	const id, other = 97104, 97105
	newReport(t, id)
	newReport(t, other)
	accept(t, id, "request", `{"type":"Manual","requested_parameters":"[1, 2]"}`, "Manual Sample rerun requested successfully")
	rows := strings.TrimSuffix(strings.Repeat(`{"index":1,"value":"1"},`, 10_000), ",")
	cases := []struct {
		name, session, operation, body string
		status                         int
		want                           string
	}{
		{"an index that was not requested", labSession, "new", values(id, 1, `{"index":3,"value":"1"}`), 400, `"code":400`},
		{"an index that the report does not have", labSession, "new", values(id, -1, `{"index":999,"value":"1"}`), 400, `"code":400`},
		{"a missing value", labSession, "new", values(id, 1, `{"index":1}`), 400, "value is required"},
		{"a missing index", labSession, "new", values(id, 1, `{"value":"1"}`), 400, "index is required"},
		{"no values", labSession, "new", values(id, 1, ""), 400, `"code":400`},
		{"10,000 rows", labSession, "new", values(id, 1, rows), 400, "at most 500"},
		{"a value of 300 characters", labSession, "new", values(id, 1, `{"index":1,"value":"`+strings.Repeat("9", 300)+`"}`), 400, "256"},
		{"a value of 1 MB", labSession, "new", values(id, 1, `{"index":1,"value":"`+strings.Repeat("9", 1<<20)+`"}`), 413, `"code":413`},
		{"two values of one index", labSession, "new", values(id, 1, `{"index":1,"value":"1"},{"index":1,"value":"2"}`), 400, "twice"},
		{"number 0", labSession, "new", values(id, 0, `{"index":1,"value":"1"}`), 400, "rerun_number"},
		{"a number that no one requested", labSession, "new", values(id, 7, `{"index":1,"value":"1"}`), 400, "No active rerun request"},
		{"the sample of another report", labSession, "new", strings.Replace(values(id, 1, `{"index":1,"value":"1"}`), "E2E-97104", "E2E-97105", 1), 400, "sample_id"},
		{"another report named", labSession, "new", strings.Replace(values(id, 1, `{"index":1,"value":"1"}`), `"lab_report_id":97104`, `"lab_report_id":97105`, 1), 400, "lab_report_id"},
		{"a laboratory that contradicts", labSession, "new", strings.Replace(values(id, 1, `{"index":1,"value":"1"}`), `"lab_id":12`, `"lab_id":13`, 1), 404, `"code":404`},
		{"another laboratory's session", otherSession, "new", strings.Replace(values(id, 1, `{"index":1,"value":"1"}`), `"lab_id":12`, `"lab_id":13`, 1), 404, `"code":404`},
		{"nothing confirmed", labSession, "confirm", `{"rerun_confirmed_data":[]}`, 400, "rerun_confirmed_data"},
		{"no confirmation at all", labSession, "confirm", `{}`, 400, "rerun_confirmed_data"},
		{"a confirmed index that the report does not have", labSession, "confirm", `{"rerun_confirmed_data":[{"index":999,"value":"1"}]}`, 400, "index"},
		{"a confirmation of another report", labSession, "confirm", `{"rerun_confirmed_data":[{"index":1,"value":"1","reportForId_id":97105}]}`, 400, "reportForId_id"},
		{"a confirmation without a value", labSession, "confirm", `{"rerun_confirmed_data":[{"index":1}]}`, 400, "value"},
		{"another laboratory confirms", otherSession, "confirm", `{"rerun_confirmed_data":[{"index":1,"value":"1"}]}`, 404, `"code":404`},
		{"another laboratory aborts", otherSession, "abort", "", 404, `"code":404`},
		{"no one aborts", "", "abort", "", 401, `"code":401`},
	}
	for _, c := range cases {
		got := call(t, c.session, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/%s", id, c.operation), c.body)
		if got.status != c.status || !strings.Contains(got.body, c.want) || !strings.Contains(got.body, `"message"`) {
			t.Errorf("%s: %d %.300s", c.name, got.status, got.body)
		}
	}
	expectStored(t, id, 3)
	expectStored(t, other, 0)
	if got := reportValues(t, id); len(got) != 0 {
		t.Errorf("report values %v", got)
	}
	closed := call(t, labSession, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/new", other), values(other, 1, `{"index":1,"value":"1"}`))
	if closed.status != 400 || closed.json(t)["message"] != "No active rerun request" {
		t.Errorf("new at flag 0: %d %s", closed.status, closed.body)
	}
}

// TestManyAnalysersReportAtOnce concurrently sends the values of 50 reports, and 12 parts of one report. All must be
// stored.
func TestManyAnalysersReportAtOnce(t *testing.T) {
	t.Parallel()
	const first, reports, shared, parts = 97200, 50, 97299, 12
	var all, indices []string
	for i := 1; i <= parts; i++ {
		all = append(all, fmt.Sprintf(`{"index":%d,"value":"1.5"}`, i))
		indices = append(indices, fmt.Sprint(i))
	}
	request := `{"type":"Manual","requested_parameters":"` + strings.Join(indices, ",") + `"}`
	ids := []int{shared}
	for id := first; id < first+reports; id++ {
		ids = append(ids, id)
	}
	for _, id := range ids {
		newReport(t, id)
		accept(t, id, "request", request, "Manual Sample rerun requested successfully")
	}
	var wait sync.WaitGroup
	send := func(id int, deviceData string) {
		wait.Go(func() { post(t.Context(), t, id, deviceData) })
	}
	for _, part := range all {
		send(shared, part)
	}
	for _, id := range ids[1:] {
		send(id, strings.Join(all, ","))
	}
	wait.Wait()
	for _, id := range ids {
		if flag, reruns := stored(t, id); flag != 4 || len(reruns) != parts {
			t.Fatalf("report %d: flag %v, %d values", id, flag, len(reruns))
		}
	}
}

func post(ctx context.Context, t *testing.T, id int, deviceData string) {
	t.Helper()
	got, err := send(ctx, stack.Endpoints.Gateway, labSession, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/new", id), values(id, 1, deviceData))
	if err != nil || got.status != http.StatusOK {
		t.Errorf("report %d: %d %.200s %v", id, got.status, got.body, err)
	}
}

func TestOfTwoRacingConfirmsOneIsAccepted(t *testing.T) {
	t.Parallel()
	const id = 97106
	newReport(t, id)
	accept(t, id, "new", values(id, -1, `{"index":1,"value":"6.1"}`), "Rerun data updated")
	statuses := make(chan int, 2)
	for i := range cap(statuses) {
		go func() {
			got, err := send(t.Context(), stack.Endpoints.Gateway, labSession, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/confirm", id),
				fmt.Sprintf(`{"rerun_confirmed_data":[{"index":1,"value":"%d"}]}`, i))
			if err != nil {
				t.Error(err)
			}
			statuses <- got.status
		}()
	}
	if a, b := <-statuses, <-statuses; a+b != 200+409 {
		t.Fatalf("statuses %d and %d", a, b)
	}
}
