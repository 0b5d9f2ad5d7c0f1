package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// A crash between the opening and the download leaves a session without its document: the same command opens it again.
func TestASessionWithoutItsDocumentIsOpenedAgain(t *testing.T) {
	t.Parallel()
	var asked creation
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+prefix+"/agent/5/heartbeat", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"auth_token":"later"}`)
	})
	mux.HandleFunc("POST "+prefix+"/7001", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		_, _ = fmt.Fprintf(w, `{"edit_id":6,"auth_token":"new","template_path":"http://%s/template"}`, r.Host)
	})
	mux.HandleFunc("GET /template", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "PK") })
	server := httptest.NewServer(mux)
	defer server.Close()
	a := agent{client: client{base: server.URL, http: newHTTPClient()}, report: 7001, dir: t.TempDir(), template: 1,
		templatePath: "templates/report.docx", poll: time.Second, out: io.Discard}
	if err := (journal{Report: 7001, EditID: 5, Token: "first"}).write(a.dir); err != nil {
		t.Fatal(err)
	}
	if err := a.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(a.document())
	if err != nil || string(content) != "PK" || !asked.TakeOver || a.journal.EditID != 6 {
		t.Errorf("document %q, error %v, asked %+v, journal %+v", content, err, asked, a.journal)
	}
}
