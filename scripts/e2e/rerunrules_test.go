package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// newProfile inserts a report of a profile with two children. Both have one value with index 1.
func newProfile(t *testing.T, id int) {
	t.Helper()
	own, bilirubin, sgpt := id*10, id*10+1, id*10+2
	applyFixture(t, fmt.Sprintf(`{"mysql":{
		"AllTests":[{"id":%[2]d,"labId_id":12,"testName":"Liver profile"},{"id":%[3]d,"labId_id":12,"testName":"Bilirubin"},{"id":%[4]d,"labId_id":12,"testName":"Transaminases"}],
		"ReportFormat":[{"id":%[3]d,"testId_id":%[3]d,"index":1,"order":1,"parameterName":"Total Bilirubin"},{"id":%[4]d,"testId_id":%[4]d,"index":1,"order":2,"parameterName":"SGPT"}],
		"billingInfo":[{"id":%[2]d,"billId_id":9001,"labId_id":12,"testId_id":%[2]d,"isProfile":1},{"id":%[3]d,"billId_id":9001,"labId_id":12,"testId_id":%[3]d,"profileParentId":%[2]d},{"id":%[4]d,"billId_id":9001,"labId_id":12,"testId_id":%[4]d,"profileParentId":%[2]d}],
		"labReportRelation":[{"id":%[1]d,"labId_id":12,"billId_id":9001,"billingInfoId_id":%[2]d,"userDetailsId_id":501,"reportID_id":%[2]d,"sampleId":"E2E-%[1]d","sampleCollected":1,"sampleCollectionTime":"2026-11-19T04:07:30Z"}],
		"reportValues":[{"id":%[3]d,"labReportId_id":%[1]d,"reportForId_id":%[1]d,"profileTestId":%[3]d,"index":1,"order":1,"parameter_name":"Total Bilirubin","value":"19"},{"id":%[4]d,"labReportId_id":%[1]d,"reportForId_id":%[1]d,"profileTestId":%[4]d,"index":1,"order":2,"parameter_name":"SGPT","value":"400"}]}}`,
		id, own, bilirubin, sgpt))
}

// TestRerunConfirmOfOneTestKeepsTheOther confirms one parameter of a profile whose tests have the same index. The other
// test must keep its value.
func TestRerunConfirmOfOneTestKeepsTheOther(t *testing.T) {
	t.Parallel()
	const id = 97151
	newProfile(t, id)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d", id)
	accept(t, id, "request", `{"type":"Manual","requested_parameters":"[1]"}`, "Manual Sample rerun requested successfully")
	accept(t, id, "new", values(id, 1, `{"index":1,"value":"18","parameter_name":"Total Bilirubin"}`), "Rerun data updated")
	list := call(t, labSession, "GET", path, "").json(t)
	received := list["reruns"].([]any)[0].(map[string]any)
	if received["profileTestId"] != float64(id*10+1) || received["test_name"] != "Bilirubin" || received["original_value"] != "19" {
		t.Errorf("GET shows %v, want the test Bilirubin and its value 19", received)
	}
	for _, row := range []string{`{"index":1,"value":"18"}`, `{"profileTestId":0,"index":1,"value":"18"}`, `{"index":1,"value":"18","parameter_name":"Other"}`,
		`{"profile_test_id":1,"index":1,"value":"18"}`} {
		got := call(t, labSession, "POST", path+"/confirm", `{"rerun_confirmed_data":[`+row+`]}`)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, "index") {
			t.Errorf("confirm of %s: %d %s, want 400 that names the index", row, got.status, got.body)
		}
	}
	expectProfile := func(want string) {
		t.Helper()
		got := queryTexts(t, "SELECT CONCAT(profileTestId, '=', value) FROM reportValues WHERE labReportId_id = ? ORDER BY profileTestId", id)
		if fmt.Sprint(got) != want {
			t.Errorf("report values %v, want %s", got, want)
		}
	}
	expectProfile("[971511=19 971512=400]")
	done := accept(t, id, "confirm", `{"rerun_confirmed_data":[{"index":1,"value":"18","parameter_name":"Total Bilirubin"}]}`, "Rerun data updated")
	replaced := done["replaced"].([]any)[0].(map[string]any)
	if replaced["test_name"] != "Bilirubin" || replaced["previous_value"] != "19" || replaced["value"] != "18" {
		t.Errorf("replaced %v, want 19 by 18 of Bilirubin", replaced)
	}
	expectProfile("[971511=18 971512=400]")
}

// TestRerunConfirmFromAnOldPage checks that a confirm is refused when values arrived after the page was loaded.
func TestRerunConfirmFromAnOldPage(t *testing.T) {
	t.Parallel()
	const id = 97152
	newReport(t, id)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d", id)
	const row = `"rerun_confirmed_data":[{"index":1,"value":"6.9"}]`
	accept(t, id, "request", `{"type":"Manual","requested_parameters":"[1]"}`, "Manual Sample rerun requested successfully")
	accept(t, id, "new", values(id, 1, `{"index":1,"value":"6.9"}`), "Rerun data updated")
	page := call(t, labSession, "GET", path, "")
	seen, etag := fmt.Sprint(page.json(t)["as_of"]), page.header.Get("ETag")
	if etag == "" || seen == "" {
		t.Fatalf("ETag %q and as_of %q, want both", etag, seen)
	}
	accept(t, id, "new", values(id, 1, `{"index":1,"value":"3.1"}`), "Rerun data updated")
	for name, got := range map[string]answer{
		"seen_at":      call(t, labSession, "POST", path+"/confirm", `{"seen_at":"`+seen+`",`+row+`}`),
		"If-Match":     callAt(t, stack.Endpoints.Gateway, labSession, "POST", path+"/confirm", `{`+row+`}`, "If-Match", etag),
		"no condition": call(t, labSession, "POST", path+"/confirm", `{`+row+`}`),
	} {
		if got.status != http.StatusConflict || !strings.Contains(got.body, "VALUES_ARRIVED") {
			t.Errorf("confirm of an old page with %s: %d %s, want 409 VALUES_ARRIVED", name, got.status, got.body)
		}
	}
	wrong := call(t, labSession, "POST", path+"/confirm", `{"seen_at":"yesterday",`+row+`}`)
	if wrong.status != http.StatusBadRequest || !strings.Contains(wrong.body, "seen_at") {
		t.Errorf("an unreadable seen_at: %d %s, want 400", wrong.status, wrong.body)
	}
	expectStored(t, id, 4, "1:1=3.1")
	etag = call(t, labSession, "GET", path, "").header.Get("ETag")
	got := callAt(t, stack.Endpoints.Gateway, labSession, "POST", path+"/confirm", `{"rerun_confirmed_data":[{"index":1,"value":"3.1"}]}`, "If-Match", etag)
	if got.status != http.StatusOK {
		t.Errorf("confirm of the present page: %d %s, want 200", got.status, got.body)
	}
}

// TestRerunRepeatedMessageChangesNothing repeats the messages of two analysers, also after a confirm. Nothing may
// change.
func TestRerunRepeatedMessageChangesNothing(t *testing.T) {
	t.Parallel()
	const id = 97153
	newReport(t, id)
	first := values(id, -1, `{"index":1,"value":"6.1"}`)
	second := strings.Replace(first, "XN-1", "XN-2", 1)
	for i, body := range []string{first, second, first, second} {
		if got := accept(t, id, "new", body, "Rerun data updated"); got["duplicate"] != (i > 1) {
			t.Errorf("message %d: %v, want duplicate %v", i, got, i > 1)
		}
	}
	expectStored(t, id, 4, "1:1=6.1", "2:1=6.1")
	accept(t, id, "confirm", `{"rerun_confirmed_data":[{"index":1,"value":"6.1"}]}`, "Rerun data updated")
	if got := accept(t, id, "new", first, "Rerun data updated"); got["duplicate"] != true || got["sampleRedrawFlag"] != 0.0 {
		t.Errorf("the message after the confirm: %v, want a duplicate at flag 0", got)
	}
	expectStored(t, id, 0)
}

// TestRerunAutoNamesWhatItDidNotJudge sends unreadable values and unknown indices. The response must list them.
func TestRerunAutoNamesWhatItDidNotJudge(t *testing.T) {
	t.Parallel()
	const id = 97154
	newReport(t, id)
	got := accept(t, id, "auto", `{"device_data":[{"index":1,"value":"5,1"},{"index":99,"value":"3"}]}`, "Auto rerun didn't qualify for these values")
	if fmt.Sprint(got["undecided_parameters"], got["unknown_indices"], got["qualifying_parameters"]) != "[1] [99] []" {
		t.Errorf("response %v, want 1 undecided and 99 unknown", got)
	}
}

// TestRerunInstrumentMayNotDecide calls all operations with an instrument's token, which has no session type. It may
// deliver and read values, but not request, confirm or abort.
func TestRerunInstrumentMayNotDecide(t *testing.T) {
	t.Parallel()
	const id = 97155
	newReport(t, id)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"lab_id": 12, "exp": time.Now().Add(time.Hour).Unix()}).
		SignedString([]byte(stack.Endpoints.JWTSecrets.Mobile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, operation, body string
		status                  int
	}{
		{"POST", "/request", `{"type":"Manual","requested_parameters":"[1]"}`, 403},
		{"POST", "/new", values(id, -1, `{"index":1,"value":"6.1"}`), 200},
		{"GET", "", "", 200},
		{"POST", "/auto", `{"device_data":[{"index":1,"value":"14"}]}`, 200},
		{"POST", "/confirm", `{"rerun_confirmed_data":[{"index":1,"value":"6.1"}]}`, 403},
		{"POST", "/abort", "", 403},
	} {
		got := callAt(t, stack.Endpoints.Gateway, "", c.method, fmt.Sprintf("/api-v3/sample-rerun/%d%s", id, c.operation), c.body,
			"Authorization", "Bearer "+token)
		if got.status != c.status {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.operation, got.status, got.body, c.status)
		}
	}
	expectStored(t, id, 4, "1:1=6.1")
}

// TestRerunOfADismissedReport checks that every operation except the abort is refused.
func TestRerunOfADismissedReport(t *testing.T) {
	t.Parallel()
	const id = 97156
	newReport(t, id)
	accept(t, id, "request", `{"type":"Manual","requested_parameters":"[1]"}`, "Manual Sample rerun requested successfully")
	applyFixture(t, fmt.Sprintf(`{"mysql":{"labReportRelation":[{"id":%d,"labId_id":12,"billId_id":9001,"billingInfoId_id":8001,"userDetailsId_id":501,
		"reportID_id":55,"sampleId":"E2E-%d","sampleRedrawFlag":3,"dismissed":1}]}}`, id, id))
	for operation, body := range map[string]string{"new": values(id, 1, `{"index":1,"value":"6.1"}`), "auto": `{"device_data":[{"index":1,"value":"5.9"}]}`,
		"confirm": `{"rerun_confirmed_data":[{"index":1,"value":"6.1"}]}`, "request": `{"type":"Manual","requested_parameters":"[1]"}`} {
		got := call(t, labSession, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/%s", id, operation), body)
		if got.status != http.StatusConflict || !strings.Contains(got.body, "report is dismissed") {
			t.Errorf("%s: %d %s, want 409 REPORT_DISMISSED", operation, got.status, got.body)
		}
	}
	accept(t, id, "abort", "", "Successfully aborted sample rerun")
}
