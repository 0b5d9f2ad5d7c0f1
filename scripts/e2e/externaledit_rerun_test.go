package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestExternalEditAConfirmedRerunWarnsOfAnOpenSession confirms a rerun with and without an editing session. Only with
// one may the response contain a warning.
func TestExternalEditAConfirmedRerunWarnsOfAnOpenSession(t *testing.T) {
	t.Parallel()
	for _, editing := range []bool{false, true} {
		report, asha := editReport(t), editor(t, 12, "report_edit")
		if editing {
			openSession(t, asha, report, creation)
		}
		got := confirmAgain(t, asha, report, "13.4")
		if got.status != 200 || strings.Contains(got.body, "warnings") != editing ||
			strings.Contains(got.body, "open in an external editor by Editor") != editing {
			t.Errorf("editing %t: %d %s", editing, got.status, got.body)
		}
	}
}

// confirmAgain measures a value of the report again and confirms it.
func confirmAgain(t *testing.T, login string, report int, value string) answer {
	t.Helper()
	rerun := fmt.Sprintf("/api-v3/sample-rerun/%d", report)
	if got := call(t, login, "POST", rerun+"/request",
		`{"type":"Manual","rerun_number":"1","requested_parameters":"[1]","is_active":true,"lab_id":12}`); got.status != 200 {
		t.Fatalf("request: %d %s", got.status, got.body)
	}
	got := call(t, login, "POST", rerun+"/confirm",
		`{"rerun_confirmed_data":[{"profileTestId":0,"value":"`+value+`","order":1,"index":1}]}`)
	if got.status != 200 {
		t.Fatalf("confirm: %d %s", got.status, got.body)
	}
	return got
}

// A document keeps its typed values. After a confirmed rerun, every user who works with an older document must get a
// warning.
func TestExternalEditWarnsOfADocumentThatIsOlderThanAConfirmedValue(t *testing.T) {
	t.Parallel()
	report, asha := editReport(t), editor(t, 12, "report_edit", "report_edit_takeover")
	enlist(t, asha, `["report_edit","report_edit_takeover"]`)
	path := fmt.Sprintf("%s/%d", editPath, report)
	expect := func(what string, got answer, warned bool) {
		t.Helper()
		if got.status != 200 || strings.Contains(got.body, "were confirmed after a rerun at") != warned {
			t.Errorf("%s: %d %s; want a warning: %t", what, got.status, got.body, warned)
		}
	}
	save := func(what string, id int, token, text string, warned bool) {
		t.Helper()
		expect(what, mustUpload(t, id, token, savedPair(t, text)), warned)
		expect("sign of life after "+what, call(t, "", "POST", fmt.Sprintf("%s/agent/%d/heartbeat", editPath, id), "",
			"Authorization", "Bearer "+token), warned)
		expect("session after "+what, call(t, asha, "GET", path, ""), warned)
	}
	end := func(id int) { call(t, asha, "PUT", fmt.Sprintf("%s/%d", editPath, id), "") }

	id, token := openSession(t, asha, report, creation)
	save("a save before", id, token, "haemoglobin 5.9", false)
	end(id)
	if got := confirmAgain(t, asha, report, "13.4"); !strings.Contains(got.body, "Word document was saved before") {
		t.Errorf("confirmation of a report with a document: %s", got.body)
	}

	var list struct {
		Revisions []struct {
			ID   int64  `json:"id"`
			Word string `json:"word_file_path"`
		} `json:"revisions"`
	}
	if err := json.Unmarshal([]byte(call(t, asha, "GET", path+"/revisions", "").body), &list); err != nil {
		t.Fatal(err)
	}
	old := list.Revisions[0]
	begin := call(t, asha, "POST", path, fmt.Sprintf(`{"template_id":1,"word_s3_filepath":%q}`, old.Word))
	expect("a session that begins with the older document", begin, true)
	fields := begin.json(t)
	id, token = int(fields["edit_id"].(float64)), fields["auth_token"].(string)
	save("a save of a document that was opened since", id, token, "haemoglobin 13.4", false)
	confirmAgain(t, asha, report, "13.6")
	save("a save after another confirmation", id, token, "haemoglobin 13.4, see comment", true)
	end(id)

	expect("the older document restored", call(t, asha, "POST", fmt.Sprintf("%s/revisions/%d/restore", path, old.ID), "{}"), true)
}
