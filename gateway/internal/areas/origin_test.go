package areas_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

const (
	trusted = "https://app.example"
	foreign = "https://app.example.evil.example"
)

func newEdgeTrusting(t *testing.T, b *backend, origins ...string) http.Handler {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	e, err := edge.New(t.Context(), edge.Deps{
		Telemetry: tel, Areas: areas.List(), Pages: []edge.Page{areas.Docs()}, TrustedOrigins: origins,
		Connections: map[string]grpc.ClientConnInterface{"rerun": b, "taskqueue": b},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.Public()
}

func TestOnlyTrustedOriginsMayReadResponses(t *testing.T) {
	t.Parallel()
	const path = "/api-v3/sample-rerun/7001"
	preflight := func(origin string) map[string]string {
		return map[string]string{"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
	}
	cases := []struct {
		name    string
		request request
		origins []string
		code    int
		origin  string // the allowed origin
	}{
		{"preflight", request{method: "OPTIONS", path: path + "/request/", header: preflight(trusted)}, []string{trusted}, 204, trusted},
		{"preflight of another origin", request{method: "OPTIONS", path: path + "/request", header: preflight(foreign)}, []string{trusted}, 405, ""},
		{"preflight of no origin", request{method: "OPTIONS", path: path + "/request", header: preflight("null")}, []string{trusted}, 405, ""},
		{"preflight, no trusted origin", request{method: "OPTIONS", path: path + "/request", header: preflight(trusted)}, nil, 405, ""},
		{"preflight of an unknown path", request{method: "OPTIONS", path: "/nothing", header: preflight(trusted)}, []string{trusted}, 404, trusted},
		{"preflight of an internal path", request{method: "OPTIONS", path: "/report/1/critical/evaluate", header: preflight(trusted)}, []string{trusted}, 404, ""},
		{"a read", request{method: "GET", path: path, header: map[string]string{"Origin": trusted, "Cookie": "sessionid=a"}}, []string{trusted}, 200, trusted},
		{"a read of another origin", request{method: "GET", path: path, header: map[string]string{"Origin": foreign}}, []string{trusted}, 200, ""},
		{"a write", request{method: "POST", path: "/queue", body: "[]", header: map[string]string{"Origin": trusted, "Cookie": "sessionid=a", "Sec-Fetch-Site": "cross-site"}}, []string{trusted}, 200, trusted},
		{"a write of another origin", request{method: "POST", path: "/queue", body: "[]", header: map[string]string{"Origin": foreign, "Cookie": "sessionid=a", "Sec-Fetch-Site": "cross-site"}}, []string{trusted}, 403, ""},
		{"an error", request{method: "GET", path: "/api-v3/sample-rerun/x", header: map[string]string{"Origin": trusted}}, []string{trusted}, 400, trusted},
		{"a page", request{method: "GET", path: "/openapi.json", header: map[string]string{"Origin": trusted}}, []string{trusted}, 200, trusted},
		{"a page of another origin", request{method: "GET", path: "/openapi.json", header: map[string]string{"Origin": foreign}}, []string{trusted}, 200, ""},
	}
	for _, c := range cases {
		code, body, header := send(t, newEdgeTrusting(t, &backend{}, c.origins...), c.request)
		if code != c.code || header.Get("Access-Control-Allow-Origin") != c.origin {
			t.Errorf("%s: response = %d with origin %q, want %d with %q: %s", c.name, code, header.Get("Access-Control-Allow-Origin"), c.code, c.origin, body)
		}
		if credentials := header.Get("Access-Control-Allow-Credentials"); (credentials == "true") != (c.origin != "") {
			t.Errorf("%s: Access-Control-Allow-Credentials = %q, want it with an origin only", c.name, credentials)
		}
		for _, name := range []string{"Content-Type", "Traceparent", "Tracestate"} { // instrumented pages send a trace with each request
			if code == 204 && (header.Get("Access-Control-Allow-Methods") != "POST" || !strings.Contains(header.Get("Access-Control-Allow-Headers"), name)) {
				t.Errorf("%s: headers = %v, want POST and %s allowed", c.name, header, name)
			}
		}
		if stored := c.request.path == "/openapi.json"; (header.Get("Cache-Control") != "no-store") != stored || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers = %v, want no-store and nosniff", c.name, header)
		}
	}
}

func TestTextThatNoMessageCanCarryIsRefused(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]request{
		"a parameter":           {method: "POST", path: "/queue?idempotency_key=%ff%fe", body: "[]"},
		"a parameter's name":    {method: "POST", path: "/queue?%ff=1", body: "[]"},
		"half an escape":        {method: "POST", path: "/queue?idempotency_key=%f", body: "[]"},
		"a path":                {method: "GET", path: "/api-v3/cell-counter-mappings/%ff"},
		"a zero in a path":      {method: "GET", path: "/api-v3/notifications/service-worker/a%00.js"},
		"a key that is dropped": {method: "POST", path: "/queue", body: "[]", header: map[string]string{"Idempotency-Key": "schlüssel"}},
	} {
		b := &backend{}
		r.path = strings.TrimSpace(r.path)
		code, body, _ := send(t, newEdge(t, b).Public(), r)
		if method, _, _ := b.seen(); code != 400 || method != "" {
			t.Errorf("%s: response = %d %s, called %q, want 400 and no call", name, code, body, method)
		}
	}
}
