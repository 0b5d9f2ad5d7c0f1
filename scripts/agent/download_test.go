package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/externaledit/document"
)

func TestADownloadIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("docx"), 64<<10)
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  error // nil: the whole document; errAny: any error
	}{
		"a document": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }, nil},
		"one that is too large": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(w, endless{}, document.Word.MaxBytes+1)
		}, errTooLarge},
		"one that breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write(content)
		}, io.ErrUnexpectedEOF},
		"a link that has ended": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "ask for a new one", http.StatusForbidden)
		}, errAny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.serve)
			defer server.Close()
			path := filepath.Join(t.TempDir(), "report.docx")
			err := client{http: newHTTPClient()}.download(t.Context(), server.URL, path)
			got, missing := os.ReadFile(path)
			if c.want == nil {
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("%d bytes, error %v", len(got), err)
				}
				return
			}
			if err == nil || (!errors.Is(c.want, errAny) && !errors.Is(err, c.want)) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if left, _ := filepath.Glob(path + "*"); missing == nil || len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

var errAny = errors.New("any error")

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// The test checks that a response that never ends is read up to a limit only.
func TestAnAnswerHasALimit(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"auth_token":"`)
		_, _ = io.CopyN(w, spaces{}, 2*maxAnswer)
	}))
	defer server.Close()
	c := client{base: server.URL, http: newHTTPClient()}
	if _, err := c.heartbeat(t.Context(), 1, "token"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want io.ErrUnexpectedEOF", err)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// Each heartbeat repeats a warning. The author must see it once.
func TestAWarningIsShownOnce(t *testing.T) {
	t.Parallel()
	warnings := `["Values of this report were confirmed after a rerun"]`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"auth_token":"t","warnings":`+warnings+`}`)
	}))
	defer server.Close()
	var shown strings.Builder
	a := agent{out: &shown}
	c := client{base: server.URL, http: newHTTPClient(), warn: a.warn}
	for _, next := range []string{warnings, warnings, `["Another one"]`} {
		warnings = next
		if _, err := c.heartbeat(t.Context(), 1, "token"); err != nil {
			t.Fatal(err)
		}
	}
	if first, second := strings.Count(shown.String(), "CHECK THE DOCUMENT: Values"), strings.Count(shown.String(), "Another one"); first != 1 || second != 1 {
		t.Errorf("warnings shown %d and %d times, want each once:\n%s", first, second, shown.String())
	}
}
