package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

const mappingsPath = "/api-v3/cell-counter-mappings/"

// seedTest makes a test of laboratory 12 with parameters 1 to 5.
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
		t.Fatalf("%d %s", got.status, got.body)
	}
	return got.json(t)["mappings"].([]any)
}

func TestCellCounterDocumentedAnswers(t *testing.T) {
	t.Parallel()
	seedTest(t, 77001)
	path := mappingsPath + "77001"
	two := `{"lab_id":12,"mappings":[{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1},{"key":"l","cell_id":3,"report_format_index":2,"report_format_order":2}]}`
	steps := []struct {
		name, session, method, path, body string
		status                            int
		want                              string
	}{
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
	for _, s := range steps {
		got := call(t, s.session, s.method, s.path, s.body)
		if got.status != s.status || !strings.Contains(got.body, s.want) {
			t.Errorf("%s: %d %s, want %d with %s", s.name, got.status, got.body, s.status, s.want)
		}
	}
	if rows := mappingsOf(t, labSession, 77001); len(rows) != 3 {
		t.Errorf("%d rows after all: %v", len(rows), rows)
	}
}

// Two writers want the same key for different parameters: one wins, the other is told which key.
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
