package authorization

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/fixtures"
)

// cell is one request of the table, with its expected result.
type cell struct {
	operation, path, login string
	letters                string // expected result for one owner, or for all owners in a list
	owner                  int    // -1: the response is a list
	object                 owner
}

// TestPeople sends every cell of people.txt to the public listener, and compares the response with the cell.
func TestPeople(t *testing.T) {
	rows, columns, err := peopleTable()
	if err != nil {
		t.Fatal(err)
	}
	cells, objects := cellsOf(rows, columns)
	if !withPipeline() {
		t.Log("the lines of search are not sent: they need the pipeline, which LAB_PIPELINE=off leaves out")
	}
	apply(t, append(objects, owners...))
	prepare(t)
	begin := time.Now()
	failures := each(cells, func(c cell) string { return c.try(t) })
	for _, line := range failures {
		t.Error(line)
	}
	t.Logf("%d cells sent in %.0f s, %d not as the table says", len(cells), time.Since(begin).Seconds(), len(failures))
}

// each calls do with every cell, eight at once, and returns the problems found.
func each(cells []cell, do func(cell) string) (lines []string) {
	work := make(chan cell)
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 8 {
		all.Go(func() {
			for c := range work {
				if line := do(c); line != "" {
					mu.Lock()
					lines = append(lines, line)
					mu.Unlock()
				}
			}
		})
	}
	for _, c := range cells {
		work <- c
	}
	close(work)
	all.Wait()
	return lines
}

// cellsOf returns the requests of the table, and additional objects for requests that change theirs.
func cellsOf(rows []line, columns []string) (cells []cell, objects []owner) {
	for _, row := range rows {
		r := requests[row.name]
		if r.kind&pipeline != 0 && !withPipeline() {
			continue
		}
		for _, path := range pathsOf(row.name) {
			for _, login := range columns {
				letters := row.letters(login)
				if r.kind&list != 0 {
					cells = append(cells, cell{row.name, path, login, letters, -1, owners[0]})
					continue
				}
				for i, letter := range letters {
					if letter == '-' {
						continue
					}
					object := owners[i]
					if r.kind&fresh != 0 && (letter == 'y' || letter == '9') {
						object.n, object.open = object.n+10_000+len(objects)*10, r.kind&unopened == 0
						objects = append(objects, object)
					}
					cells = append(cells, cell{row.name, path, login, string(letter), i, object})
				}
			}
		}
	}
	return cells, objects
}

// pathsOf returns the paths of an operation, with its query.
func pathsOf(name string) []string {
	_, path, _ := strings.Cut(name, " ")
	path, _, _ = strings.Cut(path, "#")
	path += queries[name]
	if rest, ok := strings.CutPrefix(path, "(/api-v3)"); ok {
		return []string{rest, "/api-v3" + rest}
	}
	return []string{path}
}

// prepare creates, by requests, the objects that only the services can store.
func prepare(t *testing.T) {
	t.Helper()
	for i, login := range map[int]string{0: "us", 1: "us", 2: "l2"} {
		for _, name := range []string{"POST " + rerun + "{report_id}/new", "POST /schedule"} {
			c := cell{name, pathsOf(name)[0], login, "y", i, owners[i]}
			status, body := c.send(t)
			if status != http.StatusOK {
				t.Fatalf("%s as %s: %d %s", name, login, status, body)
			}
			if _, after, ok := strings.Cut(body, `"job_ids":["`); ok {
				owners[i].job, _, _ = strings.Cut(after, `"`)
			}
		}
	}
	if !withPipeline() {
		return
	}
	for login, seen := range map[string]string{"us": "yy.", "l2": "..y"} {
		const search = "POST /api/v1/users/search"
		found := cell{search, pathsOf(search)[0], login, seen, -1, owners[0]}
		await.Nil(t, "the patients in the index", func() error {
			if problem := found.try(t); problem != "" {
				return errors.New(problem)
			}
			return nil
		})
	}
}

// try sends the request and returns the difference from the table, or "".
func (c cell) try(t *testing.T) string {
	if c.owner >= 0 && c.object.job == "" {
		c.object.job = owners[c.owner].job
	}
	status, body := c.send(t)
	want := map[byte]int{'0': 400, '1': 401, '3': 403, '4': 404, '9': 409}
	var problem string
	switch wanted, refused := want[c.letters[0]]; {
	case refused && status != wanted:
		problem = fmt.Sprintf("want %d", wanted)
	case refused:
		return ""
	case status != http.StatusOK:
		problem = "want an answer"
	default:
		problem = c.wordsIn(body)
	}
	if problem == "" {
		return ""
	}
	whose := "of all"
	if c.owner >= 0 {
		whose = "of " + owners[c.owner].word
	}
	return fmt.Sprintf("%s %s as %s: %s, got %d %.300s", strings.Fields(c.operation)[0]+" "+c.path, whose, c.login, problem, status, body)
}

// wordsIn returns a problem if the response contains the word of an owner whom it must not show, or lacks the word of
// one whom it must show.
func (c cell) wordsIn(body string) string {
	for i, o := range owners {
		letter := byte('.')
		switch {
		case c.owner < 0:
			letter = c.letters[i]
		case c.owner == i:
			letter = c.letters[0]
		}
		holds := strings.Contains(body, o.word)
		if holds && letter != 'y' {
			return "the answer shows " + o.word
		}
		if !holds && letter == 'y' && requests[c.operation].kind&words != 0 {
			return "the answer lacks " + o.word
		}
	}
	return ""
}

// client keeps enough idle connections for all workers.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 30 * time.Second}

// patience is the time after which a stream that lacks expected words counts as complete.
const patience = 3 * time.Second

func (c cell) send(t *testing.T) (status int, body string) {
	r, method := requests[c.operation], strings.Fields(c.operation)[0]
	path := c.path
	if c.login == "ee" && c.owner == 0 {
		path = strings.ReplaceAll(path, "{edit_id}", "{ended}")
		if method == http.MethodPut {
			path = strings.ReplaceAll(path, "{id}", "{ended}")
		}
	}
	text := strings.ReplaceAll(c.object.fill(r.body), "{login}", c.login)
	header := credential(t, c.login, c.object)
	header.Set("Content-Type", "application/json")
	if r.kind&upload != 0 {
		text, header["Content-Type"] = form()
	}
	ctx := t.Context()
	if r.kind&stream != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
		header.Set("Last-Event-ID", "0")
	}
	asked, err := http.NewRequestWithContext(ctx, method, platform.Endpoints.Gateway+c.object.fill(path), strings.NewReader(text))
	if err != nil {
		return 0, err.Error()
	}
	asked.Header = header
	if r.kind&stream != 0 {
		return exchange(asked, c.follow)
	}
	return exchange(asked, wholly)
}

// exchange sends a request and reads the response.
func exchange(request *http.Request, read func(io.Reader) string) (status int, body string) {
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	return response.StatusCode, read(response.Body)
}

func wholly(body io.Reader) string {
	all, err := io.ReadAll(body)
	if err != nil {
		return err.Error()
	}
	return string(all)
}

// follow reads a stream until it contains all expected words, or until patience has passed.
func (c cell) follow(body io.Reader) string {
	var all bytes.Buffer
	part := make([]byte, 1<<16)
	for {
		n, err := body.Read(part)
		all.Write(part[:n])
		if err != nil || requests[c.operation].kind&words == 0 {
			return all.String()
		}
		if strings.Contains(c.letters, "y") && c.wordsIn(all.String()) == "" {
			return all.String()
		}
	}
}

// form returns the upload form of a save of an editing session.
func form() (body string, contentType []string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	demo, _ := fixtures.Demo() // a test of package fixtures checks the error
	part := func(field, name, kind string, content []byte) {
		header := textproto.MIMEHeader{"Content-Type": {kind},
			"Content-Disposition": {fmt.Sprintf("form-data; name=%q; filename=%q", field, name)}}
		p, _ := w.CreatePart(header) // writes to a buffer do not fail
		_, _ = p.Write(content)
	}
	part("word_file", "report.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", demo.Objects[0].Content)
	part("pdf_file", "report.pdf", "application/pdf",
		[]byte("%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n"))
	_ = w.Close()
	return b.String(), []string{w.FormDataContentType()}
}
