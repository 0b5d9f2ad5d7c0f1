package conformance_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/scripts/e2e/conformance"
)

// canned returns the same response to every request.
type canned struct {
	status int
	body   string
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(c.body))}, nil
}

func TestDifferencesFromTheDocumentAreFound(t *testing.T) {
	t.Parallel()
	const aborted, envelope = `{"message":"Successfully aborted sample rerun","sampleRedrawFlag":0}`, `{"code":404,"message":"m","details":""}`
	cases := []struct {
		name, method, path, sent string
		status                   int
		body, finding            string
	}{
		{"as documented", "POST", "/api-v3/sample-rerun/7001/abort/", "", 200, aborted, ""},
		{"an error as documented", "POST", "/api-v3/sample-rerun/7001/abort", "", 404, envelope, ""},
		{"a field is missing", "POST", "/api-v3/sample-rerun/7001/abort", "", 200, `{"message":"m"}`, "sampleRedrawFlag"},
		{"null where there is none", "POST", "/api-v3/sample-rerun/7001/abort", "", 200, `{"message":null,"sampleRedrawFlag":0}`, "/message"},
		{"another error's body", "POST", "/queue/", `[]`, 400, `{"error":"wrong"}`, "the answer"},
		{"a status that is not documented", "POST", "/queue/", `[]`, 418, envelope, "status is not supported"},
		{"an accepted body that is not documented", "POST", "/jobInfo/", `{"id":7}`, 200, `{"code":401,"message":"Job not found"}`, "an accepted body"},
		{"tolerated", "POST", "/jobInfo/", `{"id":7}`, 200, `{"code":401,"message":"Job not found"}`, ""},
		{"no documented path", "GET", "/health", "", 200, `{}`, ""},
	}
	for _, c := range cases {
		recorder, err := conformance.Wrap(canned{c.status, c.body})
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(context.Background(), c.method, "http://127.0.0.1:1"+c.path, strings.NewReader(c.sent))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if c.name == "tolerated" {
			request.Header.Set(conformance.Tolerated, "a number")
		}
		response, err := recorder.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); string(text) != c.body || err != nil {
			t.Errorf("%s: the answer became %s, %v", c.name, text, err)
		}
		response.Body.Close()
		var out bytes.Buffer
		if code := recorder.Report(&out); (code == 0) != (c.finding == "") || !strings.Contains(out.String(), c.finding) {
			t.Errorf("%s: %d, %s", c.name, code, &out)
		}
	}
}
