package edge_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

func TestStaticServesAFolderOfFiles(t *testing.T) {
	t.Parallel()
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html><script type=module src=app.js></script>")},
		"app.js":     {Data: []byte("export {}")}, "parts/list.css": {Data: []byte("p{}")},
	}
	e, err := edge.New(t.Context(), edge.Deps{Telemetry: tel, Pages: []edge.Page{edge.Static("/board", files)}})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		method, path string
		code         int
		contentType  string
		want         string
	}{
		"the page":         {"GET", "/board/", 200, "text/html; charset=utf-8", "<!doctype html>"},
		"its head":         {"HEAD", "/board/", 200, "text/html; charset=utf-8", ""},
		"without slash":    {"GET", "/board", 308, "", "/board/"},
		"a script":         {"GET", "/board/app.js", 200, "text/javascript; charset=utf-8", "export"},
		"deeper":           {"GET", "/board/parts/list.css", 200, "text/css; charset=utf-8", "p{}"},
		"a folder":         {"GET", "/board/parts/", 404, "application/json", "no such path"},
		"not there":        {"GET", "/board/x.js", 404, "application/json", "no such path"},
		"outside":          {"GET", "/board/../secret", 404, "application/json", "no such path"},
		"outside, encoded": {"GET", "/board/%2e%2e/secret", 404, "application/json", "no such path"},
		"another page":     {"GET", "/boarding", 404, "application/json", "no such path"},
		"a write":          {"POST", "/board/", 405, "application/json", "Use GET"},
	}
	for name, test := range tests {
		recorder := httptest.NewRecorder()
		e.Public().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), test.method, test.path, http.NoBody))
		header := recorder.Header()
		if recorder.Code != test.code || !strings.Contains(recorder.Body.String(), test.want) {
			t.Errorf("%s: response = %d %s, want %d with %q", name, recorder.Code, recorder.Body, test.code, test.want)
		}
		if test.contentType != "" && header.Get("Content-Type") != test.contentType {
			t.Errorf("%s: Content-Type = %s, want %s", name, header.Get("Content-Type"), test.contentType)
		}
		policy := header.Get("Content-Security-Policy")
		if test.code == 200 && (!strings.HasPrefix(policy, "default-src 'self';") || strings.Contains(policy, "unsafe")) {
			t.Errorf("%s: Content-Security-Policy = %q, want default-src 'self' and nothing unsafe", name, policy)
		}
		if header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers = %v, want no-store and nosniff", name, header)
		}
	}
}

// The test checks that a page is compressed for clients that accept it, unless compression makes it larger.
func TestStaticCompressesForThoseWhoAcceptIt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p { margin: 0 }\n", 100)
	page := edge.Static("/board", fstest.MapFS{"list.css": {Data: []byte(long)}, "short.css": {Data: []byte("p{}")}})
	for name, test := range map[string]struct{ path, accept, encoding string }{
		"a browser":        {"/board/list.css", "gzip, deflate, br", "gzip"},
		"gzip alone":       {"/board/list.css", "br;q=1, gzip;q=0.5", "gzip"},
		"no header":        {"/board/list.css", "", ""},
		"another encoding": {"/board/list.css", "br, x-gzip", ""},
		"refused":          {"/board/list.css", "gzip;q=0", ""},
		"a short file":     {"/board/short.css", "gzip", ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, http.NoBody)
		r.Header.Set("Accept-Encoding", test.accept)
		got := httptest.NewRecorder()
		page.Handler.ServeHTTP(got, r)
		header := got.Header()
		if header.Get("Content-Encoding") != test.encoding || header.Get("Vary") != "Accept-Encoding" || header.Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("%s: headers = %v, want the encoding %q", name, header, test.encoding)
			continue
		}
		if test.encoding == "" {
			continue
		}
		unpacked, err := gzip.NewReader(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unpacked); err != nil || string(text) != long {
			t.Errorf("%s: %d bytes, %v, want the file", name, len(text), err)
		}
	}
}
