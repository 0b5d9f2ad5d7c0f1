package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	editPath = "/api-v3/report/external-edit"
	wordType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	creation = `{"template_id":1,"word_s3_filepath":"templates/report.docx"}`
)

var (
	nextEditor atomic.Int64
	nextReport atomic.Int64
)

// editor seeds a session of a new lab user, whose rate limits are unused, and returns its id.
func editor(t *testing.T, lab int, permissions ...string) string {
	t.Helper()
	id := 50_000 + nextEditor.Add(1)
	name := fmt.Sprintf("e2e-editor-%d", id)
	logIn(t, name, lab, id, permissions...)
	return name
}

func logIn(t *testing.T, session string, lab int, userID int64, permissions ...string) {
	t.Helper()
	granted, err := json.Marshal(append([]string{}, permissions...))
	if err != nil {
		t.Fatal(err)
	}
	applyFixture(t,
		fmt.Sprintf(`{"sessions":[{"id":%q,"session_type":"lab_user","lab_id":%d,"lab_user_id":%d,"username":"e2e-%d","full_name":"Editor %d","permissions":%s}]}`,
			session, lab, userID, userID, userID, granted))
}

// enlist adds an editor to the list of users of laboratory 12, with permissions as JSON, and returns the user's id.
func enlist(t *testing.T, editor, permissions string) int64 {
	t.Helper()
	id := userOf(t, editor)
	execSQL(t, "INSERT INTO labUser (id, labId_id, username, permissions) VALUES (?, 12, ?, ?)", id, editor, permissions)
	return id
}

// userOf returns the user id of a session that editor has returned.
func userOf(t *testing.T, editor string) int64 {
	t.Helper()
	_, number, _ := strings.Cut(editor, "editor-")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// editReport seeds a report of laboratory 12 that no other test uses.
func editReport(t *testing.T) int {
	t.Helper()
	id := int(760_000 + nextReport.Add(1))
	newReport(t, id)
	return id
}

// docx returns a Word document that contains text. parts alternates names and contents of parts to add or replace.
func docx(t *testing.T, text string, parts ...string) []byte {
	t.Helper()
	names := []string{"[Content_Types].xml", "_rels/.rels", "word/document.xml"}
	all := map[string]string{
		"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
		"_rels/.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1"` +
			` Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml": `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` + text + `</w:document>`,
	}
	for i := 0; i+1 < len(parts); i += 2 {
		if _, known := all[parts[i]]; !known {
			names = append(names, parts[i])
		}
		all[parts[i]] = parts[i+1]
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		part, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, all[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pdf(text string) []byte {
	return []byte("%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\n% " + text + "\ntrailer <</Root 1 0 R>>\n%%EOF\n")
}

// formFile is one part of an upload form.
type formFile struct {
	field, name, contentType string
	content                  []byte
}

// savedPair returns the form of a save.
func savedPair(t *testing.T, text string) []formFile {
	t.Helper()
	return []formFile{
		{"word_file", "report.docx", wordType, docx(t, text)},
		{"pdf_file", "report.pdf", "application/pdf", pdf(text)},
	}
}

func formOf(files []formFile) (body []byte, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range files {
		header := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name="%s"`, f.field)
		if f.name != "" {
			disposition += fmt.Sprintf(`; filename="%s"`, strings.ReplaceAll(f.name, `\`, `\\`))
		}
		header.Set("Content-Disposition", disposition)
		if f.contentType != "" {
			header.Set("Content-Type", f.contentType)
		}
		part, _ := w.CreatePart(header) // writes to a buffer do not fail
		_, _ = part.Write(f.content)
	}
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// uploadForm posts a form to a session. token is a bearer token; "" sends none.
func uploadForm(ctx context.Context, editID int, token string, files []formFile) (answer, error) {
	body, contentType := formOf(files)
	return uploadBody(ctx, stack.Endpoints.Gateway, editID, token, contentType, bytes.NewReader(body))
}

// uploadTimeout allows for three concurrent uploads of the largest documents on a busy machine.
const uploadTimeout = 2 * time.Minute

func uploadBody(ctx context.Context, base string, editID int, token, contentType string, body io.Reader) (answer, error) {
	url := fmt.Sprintf("%s%s/agent/%d", base, editPath, editID)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("X-IS-EXTERNAL-EDIT-REQUEST", "true")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	uploads := http.Client{Transport: client.Transport, Timeout: uploadTimeout}
	response, err := uploads.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

func mustUpload(t *testing.T, editID int, token string, files []formFile) answer {
	t.Helper()
	got, err := uploadForm(t.Context(), editID, token, files)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// openSession creates an editing session and returns its id and token.
func openSession(t *testing.T, session string, report int, body string) (id int, token string) {
	t.Helper()
	got := call(t, session, "POST", fmt.Sprintf("%s/%d", editPath, report), body)
	if got.status != 200 {
		t.Fatalf("create: %d %s", got.status, got.body)
	}
	fields := got.json(t)
	return int(fields["edit_id"].(float64)), fields["auth_token"].(string)
}

// namesOf returns the names in a JSON object.
func namesOf(m map[string]any) map[string]bool {
	names := map[string]bool{}
	for name := range m {
		names[name] = true
	}
	return names
}

// objectsOf returns the files of a report in the store's folder, one per line.
func objectsOf(t *testing.T, report int) string {
	t.Helper()
	root := filepath.Join(strings.TrimPrefix(stack.Endpoints.BlobURL, "file://"), "labs", "12", "external-edit",
		strconv.Itoa(report))
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.Contains(path, "/0-") { // not the document that a session began with
			found = append(found, strings.TrimPrefix(path, root))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(found, "\n")
}
