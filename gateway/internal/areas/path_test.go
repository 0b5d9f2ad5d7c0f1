package areas_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
)

func TestAnEncodedSlashBelongsToItsSegment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, path, called string }{
		{"DELETE", "/api-v3/cell-counter-mappings/55/%2F", "/lab.cellcounter.v1.CellCounterService/DeleteMapping"},
		{"DELETE", "/api-v3/cell-counter-mappings/55%2Fa", ""},
		{"POST", "/api-v3/sample-rerun/7001%2Fabort", ""},
		{"POST", "/api-v3/sample-rerun/7001%2fabort", ""},
		{"GET", "/api-v3/sample-rerun/7001%2F", ""},
		{"GET", "/api-v3/sample-rerun/%37001", "/lab.rerun.v1.RerunService/ListReruns"},
		{"GET", "/api-v3/sample%2Drerun/7001/", "/lab.rerun.v1.RerunService/ListReruns"},
		{"POST", "/report/9001/critical%2Fevaluate", ""},
		{"POST", "/report/9001%2Fcritical/evaluate", ""},
		{"POST", "/report/9001/critical/%65valuate", ""},
		{"POST", "/report/9001/critical/evaluate%2F", ""},
		{"POST", "/%72eport/9001/critical/evaluate/", ""},
	} {
		b := &backend{}
		code, body, _ := send(t, newEdge(t, b).Public(), request{method: c.method, path: c.path})
		if called, _, _ := b.seen(); called != c.called || (c.called == "") != (code == 404 || code == 400 || code == 405) {
			t.Errorf("%s %s: response = %d %s, called %q, want %q", c.method, c.path, code, body, called, c.called)
		}
	}
	for encoded, want := range map[string]string{"%2F": "/", "%25": "%", "%2525": "%25", "a%2Fb": "a/b", "%20": " ", "+": "+", "%C3%A4": "ä"} {
		b := &backend{}
		send(t, newEdge(t, b).Public(), request{method: "DELETE", path: "/api-v3/cell-counter-mappings/55/" + encoded})
		_, _, args := b.seen()
		if in, ok := args.(*cellcounterv1.DeleteMappingRequest); !ok || in.GetKey() != want {
			t.Errorf("key %s arrived as %v, want %q", encoded, args, want)
		}
	}
}

func TestHeadIsAnsweredAsGetWithoutTheBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newEdge(t, &backend{}).Public())
	defer server.Close()
	for path, want := range map[string]int{
		"/api-v3/sample-rerun/7001": 200, "/api-v3/sample-rerun/x": 400, "/nothing": 404, "/queue": 405, "/openapi.json": 200,
		"/api-v3/notifications/live": 405, // HEAD would never end on an event stream
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != want || response.ContentLength <= 0 {
			t.Errorf("HEAD %s: response = %d, length %d, want %d and the length of the body of GET", path, response.StatusCode, response.ContentLength, want)
		}
	}
	_, _, header := send(t, newEdge(t, &backend{}).Public(), request{method: "DELETE", path: "/api-v3/sample-rerun/7001"})
	if header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow = %q, want GET, HEAD", header.Get("Allow"))
	}
}

func TestABodyOfAnotherCodingOrTypeIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		coding, kind, body string
		code               int
	}{
		{"", "application/json", "[]", 200},
		{"identity", "application/json; charset=utf-8", "[]", 200},
		{"", "", "[]", 200},
		{"", "application/x-www-form-urlencoded", "[]", 200}, // curl's default content type
		{"", "text/plain", "[]", 200},
		{"", "application/vnd.lab+json", "[]", 200},
		{"gzip", "application/json", "[]", 415},
		{"br, gzip", "application/json", "[]", 415},
		{"", "application/xml", "<a/>", 415},
		{"", "text/xml", "<a/>", 415},
		{"", "application/x-protobuf", "[]", 415},
	} {
		b := &backend{}
		code, body, header := send(t, newEdge(t, b).Public(), request{"POST", "/queue", c.body,
			map[string]string{"Content-Encoding": c.coding, "Content-Type": c.kind}})
		called, _, _ := b.seen()
		if code != c.code || (called == "") != (code == 415) || (header.Get("Accept-Encoding") == "identity") != (code == 415) {
			t.Errorf("%q %q: response = %d %s, called %q, want %d", c.coding, c.kind, code, body, called, c.code)
		}
		if code == 415 && !strings.Contains(body, `{"code":415,"message":"The body has a Content-`) {
			t.Errorf("%q %q: body = %s, want the area's error", c.coding, c.kind, body)
		}
	}
}
