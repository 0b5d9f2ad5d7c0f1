package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fieldNames(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

func TestExternalEditFromCreationToEnd(t *testing.T) {
	t.Parallel()
	report, asha := editReport(t), editor(t, 12, "report_edit")
	path := fmt.Sprintf("%s/%d", editPath, report)
	if got := call(t, asha, "GET", path, ""); got.status != 404 || got.json(t)["code"] != 404.0 {
		t.Errorf("before: %d %s", got.status, got.body)
	}
	created := call(t, asha, "POST", path, creation)
	if created.status != 200 {
		t.Fatalf("got %d %s, want status 200", created.status, created.body)
	}
	if diff := cmp.Diff(fieldNames("edit_id", "auth_token", "template_path"), namesOf(created.json(t))); diff != "" {
		t.Error(diff)
	}
	id, token := int(created.json(t)["edit_id"].(float64)), created.json(t)["auth_token"].(string)
	wantTemplate(t, created.json(t)["template_path"].(string))
	wantBeforeTheFirstSave(t, asha, path, id)

	saved := mustUpload(t, id, token, savedPair(t, "first"))
	if saved.status != 200 || saved.json(t)["message"] != "Files uploaded and linked successfully" {
		t.Fatalf("got %d %s, want status 200", saved.status, saved.body)
	}
	if diff := cmp.Diff(fieldNames("message", "word_s3_path", "pdf_s3_path"), namesOf(saved.json(t))); diff != "" {
		t.Error(diff)
	}
	after := call(t, asha, "GET", path, "").json(t)
	if after["word_file_path"] != saved.json(t)["word_s3_path"] || after["pdf_file_path"] != saved.json(t)["pdf_s3_path"] {
		t.Errorf("linked %v, answered %s", after, saved.body)
	}
	again := mustUpload(t, id, token, savedPair(t, "first"))
	if again.status != 200 || again.body != saved.body {
		t.Errorf("the same files again: %d %s", again.status, again.body)
	}
	if got := call(t, asha, "PUT", fmt.Sprintf("%s/%d/", editPath, id), ""); got.status != 200 ||
		strings.TrimSpace(got.body) != `{"message":"Session has been inactivated"}` {
		t.Errorf("end: %d %s", got.status, got.body)
	}
	if got := call(t, asha, "GET", path, ""); got.status != 404 {
		t.Errorf("after the end: %d %s", got.status, got.body)
	}
	if got := mustUpload(t, id, token, savedPair(t, "second")); got.status != 403 || got.json(t)["code"] != 403.0 {
		t.Errorf("upload after the end: %d %s", got.status, got.body)
	}
}

// wantTemplate downloads the template by the pre-signed link, without a session.
func wantTemplate(t *testing.T, link string) {
	t.Helper()
	response, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, _ := io.ReadAll(response.Body)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != wordType ||
		!strings.HasPrefix(string(content), "PK\x03\x04") {
		t.Errorf("template: %s %s %.20q", response.Status, response.Header.Get("Content-Type"), content)
	}
}

func wantBeforeTheFirstSave(t *testing.T, session, path string, id int) {
	t.Helper()
	got := call(t, session, "GET", path, "").json(t)
	if diff := cmp.Diff(fieldNames("id", "word_file_path", "pdf_file_path", "auth_token", "is_active", "author_name",
		"updated_at"), namesOf(got)); diff != "" {
		t.Error(diff)
	}
	if got["id"] != float64(id) || got["is_active"] != 1.0 || got["pdf_file_path"] != "" ||
		!strings.HasSuffix(got["word_file_path"].(string), "/templates/report.docx") ||
		got["auth_token"] == "" || !strings.HasPrefix(got["author_name"].(string), "Editor ") ||
		got["updated_at"].(float64) < 1e12 {
		t.Errorf("%v", got)
	}
}

func TestExternalEditEveryRefusalOfACreation(t *testing.T) {
	t.Parallel()
	report, signed, dismissed := editReport(t), editReport(t), editReport(t)
	execSQL(t, "UPDATE labReportRelation SET isSigned = 1 WHERE id = ?", signed)
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1 WHERE id = ?", dismissed)
	applyFixture(t, `{"mysql":{"report_word_template":[{"id":901,"lab_id":13,"name":"other","word_s3_filepath":"templates/other.docx"},
		{"id":902,"lab_id":12,"name":"off","word_s3_filepath":"templates/report.docx","is_disabled":1},
		{"id":903,"lab_id":12,"name":"of another laboratory's folder","word_s3_filepath":"labs/13/secret.docx"},
		{"id":904,"lab_id":12,"name":"without its file","word_s3_filepath":"templates/lost.docx"}]}}`)
	for _, c := range []struct {
		name, session string
		report        int
		body          string
		want          int
		text          string
	}{
		{"no credential", "", report, creation, 401, ""},
		{"no permission", editor(t, 12), report, creation, 403, "report_edit"},
		{"a doctor", "demo-doctor", report, creation, 403, ""},
		{"another laboratory", editor(t, 13, "report_edit"), report, creation, 404, ""},
		{"no such report", editor(t, 12, "report_edit"), 1, creation, 404, ""},
		{"signed", editor(t, 12, "report_edit"), signed, creation, 403, "signed"},
		{"dismissed", editor(t, 12, "report_edit"), dismissed, creation, 403, "dismissed"},
		{"no body", editor(t, 12, "report_edit"), report, "", 400, ""},
		{"not JSON", editor(t, 12, "report_edit"), report, "{", 400, ""},
		{"no template_id", editor(t, 12, "report_edit"), report, `{"word_s3_filepath":"templates/report.docx"}`, 400,
			"template_id"},
		{"template_id as text", editor(t, 12, "report_edit"), report,
			`{"template_id":"x","word_s3_filepath":"templates/report.docx"}`, 400, "template_id"},
		{"no word_s3_filepath", editor(t, 12, "report_edit"), report, `{"template_id":1}`, 400, "word_s3_filepath"},
		{"no such template", editor(t, 12, "report_edit"), report,
			`{"template_id":999,"word_s3_filepath":"templates/report.docx"}`, 400, "Template not found"},
		{"another laboratory's template", editor(t, 12, "report_edit"), report,
			`{"template_id":901,"word_s3_filepath":"templates/other.docx"}`, 400, "Template not found"},
		{"a disabled template", editor(t, 12, "report_edit"), report,
			`{"template_id":902,"word_s3_filepath":"templates/report.docx"}`, 400, "Template not found"},
		{"another file", editor(t, 12, "report_edit"), report, `{"template_id":1,"word_s3_filepath":"templates/other.docx"}`,
			400, "Template not found"},
		{"another laboratory's file", editor(t, 12, "report_edit"), report,
			`{"template_id":1,"word_s3_filepath":"labs/13/secret.docx"}`, 400, "Template not found"},
		{"a template in another laboratory's folder", editor(t, 12, "report_edit"), report,
			`{"template_id":903,"word_s3_filepath":"labs/13/secret.docx"}`, 400, "Template not found"},
		{"a template without its file", editor(t, 12, "report_edit"), report,
			`{"template_id":904,"word_s3_filepath":"templates/lost.docx"}`, 400, "Template not found"},
		{"a path trick", editor(t, 12, "report_edit"), report,
			`{"template_id":1,"word_s3_filepath":"labs/12/../13/secret.docx"}`, 400, "Template not found"},
		{"another store", editor(t, 12, "report_edit"), report,
			`{"template_id":1,"word_s3_filepath":"https://evil.example/t.docx"}`, 400, "Template not found"},
	} {
		got := call(t, c.session, "POST", fmt.Sprintf("%s/%d", editPath, c.report), c.body)
		body := got.json(t)
		if got.status != c.want || body["code"] != float64(c.want) || !strings.Contains(body["message"].(string), c.text) {
			t.Errorf("%s: %d %s, want %d %q", c.name, got.status, got.body, c.want, c.text)
		}
		delete(body, "errors") // only responses about wrong fields have it
		if diff := cmp.Diff(fieldNames("code", "message", "details"), namesOf(body)); diff != "" {
			t.Errorf("%s: got %s, want none", c.name, diff)
		}
	}
	var sessions int
	queryRow(t, "SELECT COUNT(*) FROM external_edit_session WHERE lab_report_id IN (?, ?, ?)", report, signed,
		dismissed).scan(&sessions)
	if sessions != 0 {
		t.Errorf("%d sessions of refused requests", sessions)
	}
}

func TestExternalEditOfTwentyCreatorsOneGetsTheReport(t *testing.T) {
	t.Parallel()
	report := editReport(t)
	const creators = 20
	users := make([]string, creators)
	for i := range users {
		users[i] = editor(t, 12, "report_edit")
	}
	answers := make([]answer, creators)
	var all sync.WaitGroup
	for i, user := range users {
		all.Go(func() {
			answers[i], _ = send(t.Context(), stack.Endpoints.Gateway, user, "POST", fmt.Sprintf("%s/%d", editPath, report),
				creation)
		})
	}
	all.Wait()
	opened := 0
	for _, got := range answers {
		switch got.status {
		case 200:
			opened++
		case 409:
			if details, _ := got.json(t)["details"].(string); !strings.Contains(details, "by Editor ") ||
				!strings.Contains(details, " IST;") {
				t.Errorf("the holder is not named: %s", got.body)
			}
		default:
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if opened != 1 {
		t.Errorf("%d sessions", opened)
	}
}

func TestExternalEditWhoSeesTheTokenAndWhoEnds(t *testing.T) {
	t.Parallel()
	report, asha, vikram := editReport(t), editor(t, 12, "report_edit"), editor(t, 12, "report_edit")
	path := fmt.Sprintf("%s/%d", editPath, report)
	id, token := openSession(t, asha, report, creation)
	otherID, otherToken := openSession(t, vikram, editReport(t), creation)
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	for _, c := range []struct {
		name, session, method, path string
		header                      []string
		want                        int
		token                       bool
	}{
		{"a colleague looks", vikram, "GET", path, nil, 200, false},
		{"the author looks", asha, "GET", path, nil, 200, true},
		{"the client looks", "", "GET", path, bearer(token), 200, true},
		{"another session's client looks", "", "GET", path, bearer(otherToken), 403, false},
		{"a doctor looks", "demo-doctor", "GET", path, nil, 200, false},
		{"an organisation looks", "demo-organization", "GET", path, nil, 403, false},
		{"another laboratory looks", editor(t, 13, "report_edit"), "GET", path, nil, 404, false},
		{"no one looks", "", "GET", path, nil, 401, false},
		{"a bad token looks", asha, "GET", path, bearer(token + "x"), 401, false},
		{"a report number that is none", asha, "GET", editPath + "/abc", nil, 400, false},
		{"a colleague ends", vikram, "PUT", fmt.Sprintf("%s/%d", editPath, id), nil, 403, false},
		{"another laboratory ends", editor(t, 13, "report_edit"), "PUT", fmt.Sprintf("%s/%d", editPath, id), nil, 404, false},
		{"the number of a report ends", asha, "PUT", path, nil, 404, false},
		{"another session's client ends", "", "PUT", fmt.Sprintf("%s/%d", editPath, id), bearer(otherToken), 403, false},
		{"no one ends", "", "PUT", fmt.Sprintf("%s/%d", editPath, id), nil, 401, false},
		{"a user's login keeps alive", asha, "POST", fmt.Sprintf("%s/agent/%d/heartbeat", editPath, id), nil, 401, false},
		{"another client keeps alive", "", "POST", fmt.Sprintf("%s/agent/%d/heartbeat", editPath, id), bearer(otherToken),
			403, false},
		{"the client keeps alive", "", "POST", fmt.Sprintf("%s/agent/%d/heartbeat", editPath, id), bearer(token), 200, true},
		{"a session token creates", "", "POST", fmt.Sprintf("%s/%d", editPath, report), bearer(token), 403, false},
		{"the client ends", "", "PUT", fmt.Sprintf("%s/%d", editPath, otherID), bearer(otherToken), 200, false},
		{"the client ends again, its answer was lost", "", "PUT", fmt.Sprintf("%s/%d", editPath, otherID), bearer(otherToken),
			200, false},
		{"an ended session is kept alive", "", "POST", fmt.Sprintf("%s/agent/%d/heartbeat", editPath, otherID),
			bearer(otherToken), 403, false},
	} {
		body := ""
		if c.method == http.MethodPost {
			body = creation
		}
		got := call(t, c.session, c.method, c.path, body, c.header...)
		shown, _ := got.json(t)["auth_token"].(string)
		if got.status != c.want || (shown != "") != c.token {
			t.Errorf("%s: %d %s, want %d and token %t", c.name, got.status, got.body, c.want, c.token)
		}
	}
}

func TestExternalEditAnAdministratorEndsWhoeversSession(t *testing.T) {
	t.Parallel()
	report, asha := editReport(t), editor(t, 12, "report_edit")
	id, token := openSession(t, asha, report, creation)
	path := fmt.Sprintf("%s/sessions/%d/end", editPath, id)
	for _, c := range []struct {
		name, session, path string
		header              []string
		want                int
	}{
		{"no one", "", path, nil, 401},
		{"the author, who has PUT", asha, path, nil, 403},
		{"the author's client", "", path, []string{"Authorization", "Bearer " + token}, 403},
		{"another laboratory's administrator", editor(t, 13, "report_edit_takeover"), path, nil, 404},
		{"no such session", editor(t, 12, "report_edit_takeover"), editPath + "/sessions/999999999/end", nil, 404},
		{"a number that is none", editor(t, 12, "report_edit_takeover"), editPath + "/sessions/0/end", nil, 400},
		{"an administrator", editor(t, 12, "report_edit_takeover"), path, nil, 200},
		{"again, the answer was lost", editor(t, 12, "report_edit_takeover"), path, nil, 200},
	} {
		if got := call(t, c.session, http.MethodPost, c.path, "", c.header...); got.status != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.want)
		}
	}
	if got := call(t, asha, http.MethodGet, fmt.Sprintf("%s/%d", editPath, report), ""); got.status != http.StatusNotFound {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
	entries := 0
	queryRow(t, "SELECT COUNT(*) FROM ActivityLog WHERE lab_id = 12 AND labReportId = ? AND category = 988", report).
		scan(&entries)
	if entries != 1 {
		t.Errorf("%d entries of the activity log", entries)
	}
}

func TestExternalEditWhoUploads(t *testing.T) {
	t.Parallel()
	asha := editor(t, 12, "report_edit")
	id, token := openSession(t, asha, editReport(t), creation)
	otherID, otherToken := openSession(t, asha, editReport(t), creation)
	signed := editReport(t)
	signedID, signedToken := openSession(t, asha, signed, creation)
	execSQL(t, "UPDATE labReportRelation SET isSigned = 1 WHERE id = ?", signed)
	for _, c := range []struct {
		name  string
		id    int
		token string
		want  int
	}{
		{"no one", id, "", 401},
		{"a bad token", id, "x.y.z", 401},
		{"another session's token", id, otherToken, 403},
		{"a session that is none", 1 << 30, token, 403},
		{"after the signature", signedID, signedToken, 409},
		{"its own token", otherID, otherToken, 200},
	} {
		if got := mustUpload(t, c.id, c.token, savedPair(t, c.name)); got.status != c.want ||
			(c.want != 200 && got.json(t)["code"] != float64(c.want)) {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.want)
		}
	}
	session := call(t, asha, "POST", fmt.Sprintf("%s/agent/%d", editPath, id), "{}")
	if session.status != 401 {
		t.Errorf("a user's login without a token: %d %s", session.status, session.body)
	}
	noForm := call(t, "", "POST", fmt.Sprintf("%s/agent/%d", editPath, id), "{}", "Authorization", "Bearer "+token)
	if noForm.status != 400 || !strings.Contains(noForm.body, "multipart") {
		t.Errorf("no form: %d %s", noForm.status, noForm.body)
	}
}
