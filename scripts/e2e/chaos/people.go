package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/day"
)

// Users of the demo: of its laboratory, and of another one.
const (
	labUser   = "demo-lab-user"
	otherUser = "demo-second-lab-user"
)

// people simulate the users that the simulated day lacks: they save documents, read notifications and send webhooks.
type people struct {
	gateway   string
	client    *http.Client
	ledger    *ledger
	receiver  *receiver
	editAt    chan day.Deed // reports that may be edited
	documents int           // used by the editing goroutine only
}

// ask sends a request and decodes a response 200 into out, unless out is nil.
func (p *people) ask(ctx context.Context, login, method, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	header := http.Header{"Cookie": {"sessionid=" + login}, "Content-Type": {"application/json"}}
	return p.send(ctx, method, path, header, text, out)
}

func (p *people) send(ctx context.Context, method, path string, header http.Header, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, p.gateway+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = header
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s %.200s", method, path, response.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// search returns the ids of the patients and samples that a search finds.
func (p *people) search(ctx context.Context, login, text string) (ids []int64, samples []string, err error) {
	var answer struct {
		Results []struct {
			ID      int64    `json:"user_id"`
			Samples []string `json:"sample_ids"`
		}
	}
	err = p.ask(ctx, login, http.MethodPost, "/api/v1/users/search", map[string]any{"query": text}, &answer)
	for _, one := range answer.Results {
		ids, samples = append(ids, one.ID), append(samples, one.Samples...)
	}
	return ids, samples, err
}

// history returns the texts of a report's log of callouts.
func (p *people) history(ctx context.Context, report int64) (texts []string, err error) {
	var answer struct {
		Logs []struct{ ActivityText string }
	}
	path := fmt.Sprint("/report/bulk/critical-notification/logs?report_ids=", report)
	err = p.ask(ctx, labUser, http.MethodGet, path, nil, &answer)
	for _, one := range answer.Logs {
		texts = append(texts, one.ActivityText)
	}
	return texts, err
}

// work sends webhooks, reads notifications and edits reports until ctx ends.
func (p *people) work(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { every(ctx, time.Second, p.hook) })
	all.Go(func() { every(ctx, 3*time.Second, p.readSomething) })
	all.Go(func() { every(ctx, 8*time.Second, p.edit) })
	all.Wait()
}

// every calls do repeatedly until ctx ends. A failed call creates no promise, because nothing was acknowledged.
func every(ctx context.Context, pause time.Duration, do func(context.Context) error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		own, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
		_ = do(own)
		done()
	}
}

// patience is the time limit of a request.
const patience = 20 * time.Second

// hook enqueues two webhooks.
func (p *people) hook(ctx context.Context) error {
	_, err := p.enqueueHooks(ctx, 2)
	return err
}

func (p *people) enqueueHooks(ctx context.Context, count int) (jobs []string, err error) {
	var tasks []map[string]any
	for range count {
		tasks = append(tasks, map[string]any{"task": 4, "task_type": 2, "data": map[string]any{
			"url": p.receiver.URL + "/", "args": map[string]any{"n": 1}, "isBody": 1}})
	}
	var answer struct {
		Jobs []string `json:"job_ids"`
	}
	if err := p.ask(ctx, labUser, http.MethodPost, "/queue/", tasks, &answer); err != nil {
		return nil, err
	}
	p.ledger.promised(arrived, promise{Deed: day.Deed{Jobs: answer.Jobs}})
	return answer.Jobs, nil
}

// notice is a notification as the inbox shows it.
type notice struct {
	ID     int64  `json:"id"`
	ReadOn *int64 `json:"read_on"`
}

func (p *people) inbox(ctx context.Context, limit int) (list []notice, err error) {
	var answer struct{ Data []notice }
	err = p.ask(ctx, labUser, http.MethodGet, fmt.Sprint("/api-v3/notifications/all?limit=", limit), nil, &answer)
	return answer.Data, err
}

// readSomething marks the newest unread notification as read.
func (p *people) readSomething(ctx context.Context) error {
	list, err := p.inbox(ctx, 20)
	if err != nil {
		return err
	}
	for _, n := range list {
		if n.ReadOn != nil {
			continue
		}
		path := fmt.Sprintf("/api-v3/notifications/notification/%d/read", n.ID)
		if err := p.ask(ctx, labUser, http.MethodPost, path, nil, nil); err != nil {
			return err
		}
		p.ledger.promised(read, promise{Note: n.ID})
		return nil
	}
	return nil
}

// save is a document as it was uploaded.
type save struct {
	Session int64  `json:"session"`
	Digest  string `json:"digest"`
}

// edit opens a report as a document, saves it twice and ends the session.
func (p *people) edit(ctx context.Context) error {
	var of day.Deed
	select {
	case of = <-p.editAt:
	default:
		return nil
	}
	var session struct {
		ID    int64  `json:"edit_id"`
		Token string `json:"auth_token"`
	}
	const path = "/api-v3/report/external-edit/"
	open := map[string]any{"template_id": 1, "word_s3_filepath": "templates/report.docx"}
	if err := p.ask(ctx, labUser, http.MethodPost, fmt.Sprint(path, of.Report), open, &session); err != nil {
		return err
	}
	for range 2 {
		p.documents++
		word := document(fmt.Sprintf("<document>save %d</document>", p.documents))
		body, header := form(word, []byte(fmt.Sprintf("%%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\n%% %d\ntrailer <</Root 1 0 R>>\n%%%%EOF\n", p.documents)))
		header.Set("Authorization", "Bearer "+session.Token)
		header.Set("X-Is-External-Edit-Request", "true")
		err := p.send(ctx, http.MethodPost, fmt.Sprintf("%sagent/%d", path, session.ID), header, body, nil)
		if err != nil {
			continue
		}
		p.ledger.promised(linked, promise{Deed: of, Save: &save{session.ID, digest(word)}})
	}
	return p.ask(ctx, labUser, http.MethodPut, fmt.Sprint(path, session.ID), map[string]any{}, nil)
}

// document returns a Word file with the text.
func document(text string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b) // writes to a buffer do not fail
	for _, part := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1"` +
			` Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` + text + `</w:document>`},
	} {
		file, _ := w.Create(part[0])
		_, _ = io.WriteString(file, part[1])
	}
	_ = w.Close()
	return b.Bytes()
}

// form returns the upload form of the desktop client.
func form(word, pdf []byte) ([]byte, http.Header) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range []struct {
		field, name, kind string
		content           []byte
	}{
		{"word_file", "report.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", word},
		{"pdf_file", "report.pdf", "application/pdf", pdf},
	} {
		part, _ := w.CreatePart(textproto.MIMEHeader{"Content-Type": {f.kind},
			"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename=%q`, f.field, f.name)}})
		_, _ = part.Write(f.content)
	}
	_ = w.Close()
	return b.Bytes(), http.Header{"Content-Type": {w.FormDataContentType()}}
}

// receiver counts the webhooks that arrive, by job.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	jobs map[string]int // guarded by mu
}

func receive() *receiver {
	r := &receiver{jobs: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.jobs[request.Header.Get("X-Job-Id")]++
	}))
	return r
}

func (r *receiver) times(job string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[job]
}

// doubled returns the number of jobs, and of webhooks that arrived more than once.
func (r *receiver) doubled() (jobs, again int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.jobs {
		again += times - 1
	}
	return len(r.jobs), again
}
