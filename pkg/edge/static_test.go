package edge_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

func TestAPageIsAFolderOfFiles(t *testing.T) {
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
			t.Errorf("%s: %d %s", name, recorder.Code, recorder.Body)
		}
		if test.contentType != "" && header.Get("Content-Type") != test.contentType {
			t.Errorf("%s: %s", name, header.Get("Content-Type"))
		}
		policy := header.Get("Content-Security-Policy")
		if test.code == 200 && (!strings.HasPrefix(policy, "default-src 'self';") || strings.Contains(policy, "unsafe")) {
			t.Errorf("%s: policy %q", name, policy)
		}
		if header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", name, header)
		}
	}
}
