package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

const mappingsPath = "/api-v3/cell-counter-mappings/"

// seedTest creates a test of laboratory 12 with parameters 1 to 5.
func seedTest(t *testing.T, id int) {
	t.Helper()
	var formats []string
	for n := 1; n <= 5; n++ {
		formats = append(formats, fmt.Sprintf(`{"id":%d,"testId_id":%d,"index":%d,"order":%d,"parameterName":"P%d"}`, id*10+n, id, n, n, n))
	}
	applyFixture(t, fmt.Sprintf(`{"mysql":{"AllTests":[{"id":%d,"labId_id":12,"testName":"Differential"}],"ReportFormat":[%s]}}`,
		id, strings.Join(formats, ",")))
}

func mappingsOf(t *testing.T, session string, test int) []any {
	t.Helper()
	got := call(t, session, "GET", fmt.Sprint(mappingsPath, test), "")
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	return got.json(t)["mappings"].([]any)
}

// step is a request, and the status and a part of its response.
type step struct {
	name, session, method, path, body string
	status                            int
	want                              string
}

func answersAre(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		got := call(t, s.session, s.method, s.path, s.body)
		if got.status != s.status || !strings.Contains(got.body, s.want) {
			t.Errorf("%s: %d %s, want %d with %s", s.name, got.status, got.body, s.status, s.want)
		}
	}
}

// The test checks that mappings created by mistake can be removed, one by one or all at once.
func TestCellCounterAMistakeIsTakenBack(t *testing.T) {
	t.Parallel()
	seedTest(t, 77005)
	path := mappingsPath + "77005"
	answersAre(t, []step{
		{"two keys that differ by an accent", labSession, "POST", path, `{"lab_id":12,"mappings":[{"key":"o","cell_id":1,"report_format_index":1,"report_format_order":1},{"key":"ö","cell_id":3,"report_format_index":2,"report_format_order":2}]}`, 200, `"inserted":2`},
		{"a target alone", labSession, "PATCH", path, `{"lab_id":12,"target_count":200}`, 200, `"inserted":0,"updated":0`},
		{"it counts", labSession, "GET", path, "", 200, `"scope":"lab","target_count":200`},
		{"a key", labSession, "DELETE", path + "/%C3%96?lab_id=12", "", 200, `"mappings":[{"key":"o"`},
		{"a deleted key", labSession, "DELETE", path + "/%C3%B6?lab_id=12", "", 404, `{"message":"This key is not mapped for the test"}`},
		{"another laboratory's", labSession, "DELETE", path + "?lab_id=13", "", 403, `"message"`},
		{"the defaults", labSession, "DELETE", path, "", 403, "needs a global administrator"},
		{"a key that an address cannot end with", labSession, "POST", path, `{"lab_id":12,"mappings":[{"key":".","cell_id":1,"report_format_index":3,"report_format_order":3}]}`, 400, "key . cannot be mapped"},
		{"the address of the key .", labSession, "DELETE", path + "/%2E?lab_id=12", "", 404, `{"message":"This key is not mapped`},
		{"as a client shortens it", labSession, "DELETE", path + "/?lab_id=12", "", 400, `add ?confirm=reset to do so`},
		{"everything is still mapped", labSession, "GET", path, "", 200, `"mappings":[{"key":"o"`},
		{"the key /", labSession, "POST", path, `{"lab_id":12,"mappings":[{"key":"/","cell_id":3,"report_format_index":2,"report_format_order":2}]}`, 200, `"inserted":1`},
		{"taken back by the query", labSession, "DELETE", path + "?lab_id=12&key=/", "", 200, `"deleted":1,"mappings":[{"key":"o"`},
		{"all", labSession, "DELETE", path + "?lab_id=12&confirm=reset", "", 200, `"deleted":1,"mappings":[],"target_count":100`},
		{"all again", labSession, "DELETE", path + "?lab_id=12&confirm=reset", "", 200, `"deleted":0`},
		{"as before", labSession, "GET", path, "", 200, `{"mappings":[],"scope":"default","target_count":100}`},
	})
}

// seen adds if_version to a body, as a client that has read this version of the stored count does.
func seen(body string, version int) string {
	return fmt.Sprintf(`%s,"if_version":%d}`, strings.TrimSuffix(body, "}"), version)
}

// Nucleated red cells (cell 13) that are mapped and counted with the documented fields only must not count as white
// cells.
func TestCellCounterNucleatedRedCellsAreApart(t *testing.T) {
	t.Parallel()
	seedTest(t, 77006)
	path := mappingsPath + "77006"
	answersAre(t, []step{
		{"mapped", labSession, "POST", path, `{"lab_id":12,"mappings":[{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1},{"key":"r","cell_id":13,"report_format_index":2,"report_format_order":2}]}`, 200,
			`{"key":"r","cell_id":13,"report_format_index":2,"report_format_order":2,"include_in_total":false}],"warnings":[]}`},
		{"counted", labSession, "POST", path + "/differential", `{"counts":[{"cell_id":1,"count":60},{"cell_id":3,"count":30},{"cell_id":13,"count":10}],"wbc":12.0,"decimals":1}`, 200,
			`{"total":90,"differential":[{"cell_id":1,"count":60,"include_in_total":true,"percent":66.7,"absolute":7.2}`},
		{"corrected", labSession, "POST", path + "/differential", `{"counts":[{"cell_id":1,"count":60},{"cell_id":3,"count":30},{"cell_id":13,"count":10}],"wbc":12.0}`, 200, `"corrected_wbc":10.8,"warnings":[]}`},
		{"mapped into the total", labSession, "PATCH", path, `{"lab_id":12,"mappings":[{"key":"r","include_in_total":true}]}`, 200, `"warnings":[{"index":0,"field":"include_in_total","message":"nucleated red cells are in the total`},
		{"counted in the total", labSession, "POST", path + "/differential", `{"counts":[{"cell_id":1,"count":60},{"cell_id":13,"count":40,"include_in_total":true}],"wbc":12.0}`, 200, `"corrected_wbc":12,"warnings":[{"index":1,`},
	})
}

// A stored count is evidence: it belongs to the report's test, is made by two persons, and its previous values are in
// the activity log.
func TestCellCounterStoredCountsProveSomething(t *testing.T) {
	t.Parallel()
	seedTest(t, 77004)
	applyFixture(t, `{"mysql":{"labReportRelation":[
		{"id":770040,"labId_id":12,"billId_id":9001,"billingInfoId_id":8001,"userDetailsId_id":501,"reportID_id":77004,"sampleId":"E2E-77004"},
		{"id":770041,"labId_id":12,"billId_id":9001,"billingInfoId_id":8001,"userDetailsId_id":501,"reportID_id":77004,"sampleId":"E2E-77041","isSigned":1}]}}`)
	path, signed := mappingsPath+"77004/counts/770040", mappingsPath+"77004/counts/770041"
	count := func(observer, n int) string {
		return fmt.Sprintf(`{"observer":%d,"counts":[{"cell_id":1,"count":%d},{"cell_id":3,"count":%d}]}`, observer, n, 100-n)
	}
	answersAre(t, []step{
		{"the first observer", labSession, "PUT", path, count(1, 60), 200, `"observer":1`},
		{"the same person as the second", labSession, "PUT", path, count(2, 61), 409, "another person"},
		{"a doctor as the second", "demo-doctor", "PUT", path, count(2, 61), 200, `"within_chance":true`},
		{"the first again, with one cell", labSession, "PUT", path, `{"observer":1,"counts":[{"cell_id":4,"count":1}]}`, 409, `"data":{"counted_at":`},
		{"with zeros", labSession, "PUT", path, count(1, 0), 409, `"total":100,"version":1}`},
		{"a colleague who saw nothing", "demo-lab-user-department", "PUT", path, count(1, 62), 409, `"counted_by_name":"Asha Ranade","observer":1`},
		{"of another version", labSession, "PUT", path, seen(count(1, 62), 2), 409, `"version":1}`},
		{"of the version that was seen", labSession, "PUT", path, seen(count(1, 62), 1), 200, `"count":62`},
		{"the same request again", labSession, "PUT", path, seen(count(1, 62), 1), 200, `"version":2`},
		{"the versions", labSession, "GET", path, "", 200, `"version":2`},
		{"a cell that is not there", labSession, "PUT", path, `{"observer":1,"counts":[{"cell_id":999,"count":1}]}`, 400, "there is no cell 999"},
		{"another test", labSession, "PUT", mappingsPath + "55/counts/770040", count(1, 62), 400, "not of this test"},
		{"a signed report", labSession, "PUT", signed, count(1, 60), 409, "signed"},
		{"an organisation", "demo-organization", "GET", path, "", 403, `"message"`},
	})
	var entries int
	queryRow(t, `SELECT COUNT(*) FROM ActivityLog WHERE lab_id = 12 AND labReportId = 770040 AND category = 994 AND log_context = 'CELL_COUNTER'
		AND (meta LIKE '%"count": 60%' OR meta LIKE '%"count":60%')`).scan(&entries)
	if entries != 1 {
		t.Errorf("%d entries of the count before in the activity log", entries)
	}
}

func TestCellCounterDocumentedAnswers(t *testing.T) {
	t.Parallel()
	seedTest(t, 77001)
	path := mappingsPath + "77001"
	two := `{"lab_id":12,"mappings":[{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1},{"key":"l","cell_id":3,"report_format_index":2,"report_format_order":2}]}`
	steps := []step{
		{"no session", "", "GET", path, "", 401, `"message"`},
		{"nothing mapped", labSession, "GET", path, "", 200, `{"mappings":[],"scope":"default","target_count":100}`},
		{"a slash at the end", labSession, "GET", path + "/", "", 200, `"mappings":[]`},
		{"another laboratory's test", otherSession, "GET", path, "", 404, `{"message":"There is no such test in this laboratory"}`},
		{"another laboratory by name", labSession, "GET", path + "?lab_id=13", "", 403, `"message":"These mappings belong to another laboratory`},
		{"bulk create", labSession, "POST", path, two, 200, `"inserted":2,"updated":0,"mappings":[{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1,"include_in_total":true}`},
		{"the same again", labSession, "POST", path, two, 200, `"inserted":0,"updated":2`},
		{"partial update", labSession, "PATCH", path, `{"lab_id":12,"mappings":[{"key":"n","report_format_id":770013},{"key":"x","cell_id":10,"report_format_id":770014}]}`, 200, `"inserted":1,"updated":1`},
		{"without lab_id", labSession, "POST", path, `{"mappings":[{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1}]}`, 403, "needs a global administrator"},
		{"without permission", "demo-lab-user-department", "POST", path, two, 403, "cell_counter_configure"},
		{"no mappings", labSession, "POST", path, `{"lab_id":12,"mappings":[]}`, 400, `"errors":[{"field":"mappings"`},
		{"duplicate keys", labSession, "POST", path, `{"lab_id":12,"mappings":[{"key":"q","cell_id":1,"report_format_index":4,"report_format_order":4},{"key":"Q","cell_id":1,"report_format_index":5,"report_format_order":5}]}`, 400, `"errors":[{"index":1,"field":"key"`},
		{"an unknown cell", labSession, "POST", path, `{"lab_id":12,"mappings":[{"key":"q","cell_id":999,"report_format_index":5,"report_format_order":5}]}`, 400, `"errors":[{"index":0,"field":"cell_id"`},
		{"a wrong type", labSession, "POST", path, `{"lab_id":12,"mappings":[{"key":"q","cell_id":"one"}]}`, 400, `"errors":[`},
		{"a key and a parameter of two rows", labSession, "PATCH", path, `{"lab_id":12,"mappings":[{"key":"n","report_format_index":2,"report_format_order":2}]}`, 409, "key 'n' is already mapped"},
		{"not a number", labSession, "GET", mappingsPath + "abc", "", 400, `"errors":[`},
		{"cells", labSession, "GET", mappingsPath + "cells/", "", 200, `{"cells":[{"id":1,"name":"Neutrophil","bg_color_hex":"#4C6EF5","fg_color_hex":"#FFFFFF","default_key":"n","is_disable":false,"created_at":`},
		{"differential", labSession, "POST", path + "/differential", `{"counts":[{"cell_id":1,"count":1},{"cell_id":2,"count":2}],"wbc":9}`, 200, `"total":3,"differential":[{"cell_id":1,"count":1,"include_in_total":true,"percent":33,"absolute":3}`},
	}
	answersAre(t, steps)
	if rows := mappingsOf(t, labSession, 77001); len(rows) != 3 {
		t.Errorf("%d rows after all: %v", len(rows), rows)
	}
}

// Sixteen concurrent writers map one key to two different parameters: each must get 200, or a 409 that names the
// conflict, and every requested key must be mapped afterwards.
func TestCellCounterConcurrentWriters(t *testing.T) {
	t.Parallel()
	seedTest(t, 77002)
	const writers = 16
	answers := make([]answer, writers)
	ctx := t.Context()
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			body := fmt.Sprintf(`{"lab_id":12,"mappings":[{"key":"k","cell_id":1,"report_format_index":%d,"report_format_order":%d},{"key":"j%d","cell_id":1,"report_format_index":%d,"report_format_order":%d}]}`,
				1+i%2, 1+i%2, i%2, 3+i%2, 3+i%2)
			answers[i], _ = send(ctx, stack.Endpoints.Gateway, labSession, "POST", mappingsPath+"77002", body)
		})
	}
	all.Wait()
	for i, a := range answers {
		if a.status != http.StatusOK && (a.status != http.StatusConflict || !strings.Contains(a.body, "already mapped")) {
			t.Errorf("writer %d: %d %s", i, a.status, a.body)
		}
	}
	keys := map[string]bool{}
	for _, row := range mappingsOf(t, labSession, 77002) {
		keys[row.(map[string]any)["key"].(string)] = true
	}
	if !keys["k"] || len(keys) != 3 {
		t.Errorf("keys %v", keys)
	}
}
