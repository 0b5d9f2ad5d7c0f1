package e2e

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

func TestExternalEditTakeOver(t *testing.T) {
	t.Parallel()
	report, asha, vikram, chief := editReport(t), editor(t, 12, "report_edit"), editor(t, 12, "report_edit"), editor(t, 12,
		"report_edit", "report_edit_takeover")
	path := fmt.Sprintf("%s/%d", editPath, report)
	takeOver := strings.Replace(creation, "}", `,"take_over":true}`, 1)
	firstID, firstToken := openSession(t, asha, report, creation)
	if got := mustUpload(t, firstID, firstToken, savedPair(t, "by asha")); got.status != 200 {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	if got := call(t, vikram, "POST", path, takeOver); got.status != 403 {
		t.Errorf("without the permission: %d %s", got.status, got.body)
	}
	if got := call(t, chief, "POST", path, creation); got.status != 409 {
		t.Errorf("without asking for it: %d %s", got.status, got.body)
	}
	secondID, secondToken := openSession(t, chief, report, takeOver)
	if secondID == firstID {
		t.Error("the session is the same")
	}
	got := mustUpload(t, firstID, firstToken, savedPair(t, "by asha again"))
	if details, _ := got.json(t)["details"].(string); got.status != 403 ||
		!strings.Contains(details, "taken over by Editor") {
		t.Errorf("the previous holder's save: %d %s", got.status, got.body)
	}
	if got := mustUpload(t, secondID, secondToken, savedPair(t, "by the chief")); got.status != 200 {
		t.Errorf("got %d %s, want status 200", got.status, got.body)
	}
	var entries int
	queryRow(t,
		"SELECT COUNT(*) FROM ActivityLog WHERE lab_id = 12 AND labReportId = ? AND category = 986 AND log_context = 'EXTERNAL_EDIT'", report).scan(&entries)
	if entries != 1 {
		t.Errorf("%d entries in the activity log", entries)
	}
	if id, _ := openSession(t, chief, report, takeOver); id == secondID { // to continue on another machine
		t.Error("one's own session was not replaced")
	}
}

func TestExternalEditRevisionsAndRestore(t *testing.T) {
	t.Parallel()
	report, asha, chief := editReport(t), editor(t, 12, "report_edit"), editor(t, 12, "report_edit",
		"report_edit_takeover")
	enlist(t, chief, `["report_edit", "report_edit_takeover"]`)
	path := fmt.Sprintf("%s/%d/revisions", editPath, report)
	id, token := openSession(t, asha, report, creation)
	first := mustUpload(t, id, token, savedPair(t, "one")).json(t)
	second := mustUpload(t, id, token, savedPair(t, "two")).json(t)
	list := revisionsOf(t, asha, path)
	if len(list) != 2 || list[0]["revision"] != 2.0 || list[1]["revision"] != 1.0 || list[0]["is_current"] != true ||
		list[1]["is_current"] != false ||
		list[0]["word_file_path"] != second["word_s3_path"] || list[1]["pdf_file_path"] != first["pdf_s3_path"] {
		t.Fatalf("%v", list)
	}
	restore := fmt.Sprintf("%s/%.0f/restore", path, list[1]["id"])
	if got := call(t, chief, "POST", restore, ""); got.status != 409 || !strings.Contains(got.body, "active session") {
		t.Errorf("while someone edits: %d %s", got.status, got.body)
	}
	if got := call(t, asha, "PUT", fmt.Sprintf("%s/%d", editPath, id), ""); got.status != 200 {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	for _, c := range []struct {
		name, session, path string
		want                int
	}{
		{"without the permission", asha, restore, 403},
		{"another laboratory", "demo-second-lab-user", restore, 403},
		{"another laboratory with the permission", editor(t, 13, "report_edit_takeover"), restore, 404},
		{"no such revision", chief, path + "/999999999/restore", 404},
		{"a number that is none", chief, path + "/x/restore", 400},
		{"no one", "", restore, 401},
		{"the chief", chief, restore, 200},
		{"the chief again", chief, restore, 200},
	} {
		if got := call(t, c.session, "POST", c.path, ""); got.status != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.want)
		}
	}
	after := revisionsOf(t, chief, path)
	if len(after) != 3 || after[0]["restored_from"] != list[1]["id"] ||
		after[0]["word_file_path"] != first["word_s3_path"] || after[0]["is_current"] != true {
		t.Errorf("%v", after)
	}
	var word string
	queryRow(t, "SELECT wordFilePath FROM labReportRelation WHERE id = ?", report).scan(&word)
	if word != first["word_s3_path"] {
		t.Errorf("linked %s", word)
	}
	execSQL(t, "UPDATE labReportRelation SET isSigned = 1 WHERE id = ?", report)
	if got := call(t, chief, "POST", fmt.Sprintf("%s/%.0f/restore", path, list[0]["id"]), ""); got.status != 409 {
		t.Errorf("after the signature: %d %s", got.status, got.body)
	}
}

func revisionsOf(t *testing.T, session, path string) []map[string]any {
	t.Helper()
	got := call(t, session, "GET", path, "")
	list, ok := got.json(t)["revisions"].([]any)
	if got.status != 200 || !ok {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	out := make([]map[string]any, len(list))
	for i, r := range list {
		out[i] = r.(map[string]any)
	}
	return out
}

func TestExternalEditRateLimits(t *testing.T) {
	t.Parallel()
	wantLimited := func(what string, got answer) {
		t.Helper()
		wait, err := strconv.Atoi(got.header.Get("Retry-After"))
		if got.status != 429 || got.json(t)["code"] != 429.0 || err != nil || wait < 1 || wait > 60 {
			t.Errorf("%s: %d %s, Retry-After %q", what, got.status, got.body, got.header.Get("Retry-After"))
		}
		if state, want := got.header.Get("RateLimit"), fmt.Sprintf(`"default";r=0;t=%d`, wait); state != want {
			t.Errorf("%s: RateLimit %s, want %s", what, state, want)
		}
	}
	creator := editor(t, 12, "report_edit")
	for i := range 10 {
		if got := call(t, creator, "POST", fmt.Sprintf("%s/%d", editPath, editReport(t)), creation); got.status != 200 {
			t.Errorf("creation %d: %d %s", i+1, got.status, got.body)
		} else if policy, left := got.header.Get("RateLimit-Policy"), got.header.Get("RateLimit"); policy != `"default";q=10;w=60` ||
			left != fmt.Sprintf(`"default";r=%d`, 9-i) {
			t.Errorf("creation %d: RateLimit-Policy %s, RateLimit %s; want 10 a minute, and %d left", i+1, policy, left, 9-i)
		}
	}
	wantLimited("creation 11", call(t, creator, "POST", fmt.Sprintf("%s/%d", editPath, editReport(t)), creation))

	reader, report := editor(t, 12, "report_edit"), editReport(t)
	id, token := openSession(t, reader, report, creation)
	for i := range 60 {
		if got := call(t, reader, "GET", fmt.Sprintf("%s/%d", editPath, report), ""); got.status != 200 {
			t.Errorf("look %d: %d %s", i+1, got.status, got.body)
		}
	}
	wantLimited("look 61", call(t, reader, "GET", fmt.Sprintf("%s/%d", editPath, report), ""))

	for i := range 5 {
		if got := mustUpload(t, id, token, savedPair(t, fmt.Sprint("save ", i))); got.status != 200 {
			t.Errorf("upload %d: %d %s", i+1, got.status, got.body)
		}
	}
	wantLimited("upload 6", mustUpload(t, id, token, savedPair(t, "save 6")))

	// Requests for a report, lists and heartbeats have separate limits.
	if got := call(t, reader, "GET", fmt.Sprintf("%s/%d/revisions", editPath, report), ""); got.status != 200 {
		t.Errorf("a list after 60 looks: %d %s", got.status, got.body)
	}
	beat := fmt.Sprintf("%s/agent/%d/heartbeat", editPath, id)
	for i := range 120 {
		if got := call(t, "", "POST", beat, "", "Authorization", "Bearer "+token); got.status != 200 {
			t.Fatalf("sign of life %d: %d %s", i+1, got.status, got.body)
		}
	}
	wantLimited("sign of life 121", call(t, "", "POST", beat, "", "Authorization", "Bearer "+token))
}

func TestExternalEditAnExpiredSessionIsOver(t *testing.T) {
	t.Parallel()
	report, asha := editReport(t), editor(t, 12, "report_edit")
	id, token := openSession(t, asha, report, creation)
	execSQL(t, "UPDATE external_edit_session SET expires_at = ? WHERE id = ?", time.Now().Add(-time.Second).UnixMilli(),
		id)
	if got := mustUpload(t, id, token, savedPair(t, "late")); got.status != 403 || !strings.Contains(got.body, "expired") {
		t.Errorf("upload: %d %s", got.status, got.body)
	}
	if got := call(t, asha, "GET", fmt.Sprintf("%s/%d", editPath, report), ""); got.status != 404 {
		t.Errorf("GET: %d %s", got.status, got.body)
	}
	openSession(t, asha, report, creation)
	other := editReport(t)
	id, _ = openSession(t, asha, other, creation)
	execSQL(t, "UPDATE external_edit_session SET expires_at = ? WHERE id = ?", time.Now().Add(-time.Second).UnixMilli(),
		id)
	await.Nil(t, "the sweeper closes a session that no one asks for", func() error {
		var reason string
		queryRow(t, "SELECT COALESCE(end_reason, '') FROM external_edit_session WHERE id = ?", id).scan(&reason)
		if reason != "expired" {
			return fmt.Errorf("reason %q", reason)
		}
		return nil
	})
}

func TestExternalEditAKeyMakesACreationRepeatable(t *testing.T) {
	t.Parallel()
	asha, path := editor(t, 12, "report_edit"), fmt.Sprintf("%s/%d", editPath, editReport(t))
	first := call(t, asha, "POST", path, creation, "Idempotency-Key", "e2e-key-1")
	again := call(t, asha, "POST", path, creation, "Idempotency-Key", "e2e-key-1")
	if first.status != 200 || again.status != 200 || first.json(t)["edit_id"] != again.json(t)["edit_id"] ||
		again.json(t)["auth_token"] == "" || again.json(t)["template_path"] == "" {
		t.Errorf("%d %s\n%d %s", first.status, first.body, again.status, again.body)
	}
	if got := call(t, asha, "POST", path, strings.Replace(creation, "1", "2", 1), "Idempotency-Key",
		"e2e-key-1"); got.status != 409 {
		t.Errorf("another request: %d %s", got.status, got.body)
	}
}

// TestExternalEditBadFiles sends invalid files. Each must get the documented 400, nothing may be stored, and the
// previous files must stay linked.
func TestExternalEditBadFiles(t *testing.T) {
	t.Parallel()
	word, good := docx(t, "good"), pdf("good")
	wordFile := func(name, contentType string, content []byte) []formFile {
		return []formFile{{"word_file", name, contentType, content}, {"pdf_file", "report.pdf", "application/pdf", good}}
	}
	pdfFile := func(name, contentType string, content []byte) []formFile {
		return []formFile{{"word_file", "report.docx", wordType, word}, {"pdf_file", name, contentType, content}}
	}
	bomb := docx(t, "x", "word/media/a.bmp", strings.Repeat("\x00", 200<<20))
	for _, c := range []struct {
		name  string
		files []formFile
		text  string
	}{
		{"a renamed .exe", wordFile("report.docx", wordType, []byte("MZ\x90\x00 this is a program")), "word_file"},
		{"an .exe", wordFile("report.exe", wordType, word), ".docx"},
		{"an empty file", wordFile("report.docx", wordType, nil), "empty"},
		{"no document", wordFile("report.docx", wordType, otherZip(t)), "not a Word document"},
		{"macros", wordFile("report.docx", wordType, docx(t, "x", "word/vbaProject.bin", "x")), "macros"},
		{"an encrypted document", wordFile("report.docx", wordType, []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1....")),
			"password"},
		{"a bomb", wordFile("report.docx", wordType, bomb), "inflates"},
		{"a nested archive", wordFile("report.docx", wordType, docx(t, "x", "word/media/a.png", string(otherZip(t)))), "archive"},
		{"a wrong content type", wordFile("report.docx", "application/msword", word), "content type"},
		{"no file name", wordFile("", wordType, word), "file name"},
		{"a path as file name", wordFile("../../etc/report.docx", wordType, word), "path"},
		{"a Windows path as file name", wordFile(`C:\reports\report.docx`, wordType, word), "path"},
		{"a file name of 256 bytes", wordFile(strings.Repeat("a", 251)+".docx", wordType, word), "255"},
		{"a PDF without header", pdfFile("report.pdf", "application/pdf", []byte("hello %%EOF")), "pdf_file"},
		{"a PDF without end", pdfFile("report.pdf", "application/pdf", []byte("%PDF-1.7 and no more")), "incomplete"},
		{"a PDF with JavaScript", pdfFile("report.pdf", "application/pdf",
			pdf("\n3 0 obj <</S /JavaScript /JS (x)>> endobj")), "JavaScript"},
		{"a PDF that starts a program", pdfFile("report.pdf", "application/pdf",
			pdf("\n3 0 obj <</S /Launch /F (x)>> endobj")), "program"},
		{"a PDF sent as something else", pdfFile("report.pdf", "application/octet-stream", good), "content type"},
		{"swapped fields", []formFile{{"word_file", "report.pdf", "application/pdf", good},
			{"pdf_file", "report.docx", wordType, word}}, "word_file"},
		{"no PDF", savedPair(t, "x")[:1], "pdf_file"},
		{"no Word document", savedPair(t, "x")[1:], "word_file"},
		{"nothing", nil, "word_file"},
		{"a third file", append(savedPair(t, "x"), formFile{"third", "x.txt", "text/plain", []byte("x")}), "neither"},
		{"the Word document twice", append(savedPair(t, "x"), formFile{"word_file", "b.docx", wordType, word}), "twice"},
		{"50 MB and a byte", wordFile("report.docx", wordType, append([]byte("PK\x03\x04"), make([]byte, 50<<20-3)...)),
			"50 MB"},
		{"100 MB and a byte", pdfFile("report.pdf", "application/pdf",
			append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("."), 100<<20-8)...)), "100 MB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := editReport(t)
			id, token := openSession(t, editor(t, 12, "report_edit"), report, creation)
			previous := mustUpload(t, id, token, savedPair(t, "previous"))
			if previous.status != 200 {
				t.Fatalf("got %d %s, want status 200", previous.status, previous.body)
			}
			before := objectsOf(t, report)
			got := mustUpload(t, id, token, c.files)
			if got.status != 400 || got.json(t)["code"] != 400.0 || !strings.Contains(got.json(t)["message"].(string), c.text) {
				t.Errorf("%d %s, want %q", got.status, got.body, c.text)
			}
			if after := objectsOf(t, report); after != before {
				t.Errorf("stored\n%s\nbefore\n%s", after, before)
			}
			var linked string
			queryRow(t, "SELECT wordFilePath FROM labReportRelation WHERE id = ?", report).scan(&linked)
			if linked != previous.json(t)["word_s3_path"] {
				t.Errorf("linked %s", linked)
			}
		})
	}
}

// otherZip returns an archive that is not a Word document.
func otherZip(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.Create("setup.exe"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestExternalEditFileNamesDoNotMatter saves files with names that users choose. All must be accepted.
func TestExternalEditFileNamesDoNotMatter(t *testing.T) {
	t.Parallel()
	report := editReport(t)
	id, token := openSession(t, editor(t, 12, "report_edit"), report, creation)
	for i, name := range []string{"रिपोर्ट ७", "Bericht Müller", strings.Repeat("a", 250)} {
		files := savedPair(t, fmt.Sprint(i))
		files[0].name = name + ".docx"
		got := mustUpload(t, id, token, files)
		if got.status != 200 || !strings.HasSuffix(got.json(t)["word_s3_path"].(string), "/report.docx") ||
			strings.Contains(got.body, name) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
