package areas_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/apperr"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

func TestBadInputIsReportedInTheAreasErrorBody(t *testing.T) {
	t.Parallel()
	public := newEdge(t, &backend{}).Public()
	big := `{"lab_id":12,"x":"` + strings.Repeat("a", 1<<20) + `"}`
	cases := []struct {
		name, method, path, body string
		code                     int
		want                     []string // substrings of the response
	}{
		{"malformed JSON", "POST", "/api-v3/sample-rerun/7001/auto", `{"device_data":[`, 400, []string{`"code":400`, `"message":"the body`, `"details"`}},
		{"trailing data", "POST", "/api-v3/sample-rerun/7001/auto", `{} {}`, 400, []string{`"code":400`}},
		{"wrong type", "POST", "/api-v3/sample-rerun/7001/auto", `{"lab_id":"twelve"}`, 400, []string{`lab_id must be an integer`}},
		{"unknown name where it matters", "POST", "/api-v3/sample-rerun/7001/request", `{"colour":"red"}`, 400, []string{"Invalid fields: colour"}},
		{"a misspelt field of a split", "POST", "/api-v3/finance/bill/split/9011", `{"test_ids":[1],"isCalculate":true}`, 400, []string{`"status":"failed"`, "isCalculate is not a field; it is written is_calculate"}},
		{"another field of a split", "POST", "/api-v3/finance/bill/split/9011", `{"test_ids":[1],"dry":true}`, 400, []string{`"status":"failed"`, "dry"}},
		{"a misspelt draft of a callout", "POST", "/report/9001/critical/callout", `{"isDraft":true}`, 400, []string{"isDraft is not a field; it is written is_draft"}},
		{"a misspelt laboratory of mappings", "POST", "/api-v3/cell-counter-mappings/55", `{"labId":12,"mappings":[]}`, 400, []string{"labId is not a field; it is written lab_id"}},
		{"a time where none is", "POST", "/queue/", `[{"task":1,"task_type":1,"sch_time":"2030-01-01T00:00:00"}]`, 400, []string{`"index":0,"field":"sch_time"`}},
		{"a misspelt time", "POST", "/schedule/", `[{"task":1,"task_type":1,"schTime":"2030-01-01T00:00:00"}]`, 400, []string{`"field":"schTime","message":"schTime is not a field; it is written sch_time"`}},
		{"a misspelt parameter", "GET", "/api-v3/cell-counter-mappings/55?labid=12", "", 400, []string{`"errors":[{"field":"labid","message":"labid is not a parameter; it is written lab_id"}]`}},
		{"wrong type in an element", "POST", "/queue/", `[{"task":4},{"task":"x"}]`, 400, []string{`"code":400`, `"errors":[{"index":1,"field":"task","message":"task must be an integer"}]`}},
		{"object instead of a list", "POST", "/queue/", `{}`, 400, []string{`"code":400`}},
		{"path number", "GET", "/api-v3/sample-rerun/abc", "", 400, []string{`lab_report_id must be a whole number`}},
		{"path number of bill split", "POST", "/api-v3/finance/bill/split/1.5", "{}", 400, []string{`"status":"failed"`, `"failed_validation":[]`, "bill_id must be a whole number"}},
		{"query number", "GET", "/api-v3/cell-counter-mappings/55?lab_id=x", "", 400, []string{`"errors":[{"field":"lab_id","message":"lab_id must be a whole number"}]`}},
		{"query number twice", "GET", "/api-v3/cell-counter-mappings/55?lab_id=12&lab_id=13", "", 400, []string{`"field":"lab_id","message":"lab_id may be given once"`}},
		{"byte order mark", "POST", "/api-v3/sample-rerun/7001/auto", "\ufeff{}", 400, []string{"begins with a byte order mark"}},
		{"text in another coding", "POST", "/api-v3/sample-rerun/7001/auto", "{\"a\":\"\xe4\"}", 400, []string{"not UTF-8 text (at byte 6)"}},
		{"unknown path", "GET", "/nothing/here", "", 404, []string{`"code":404`, "There is no such path"}},
		{"unknown path of an area", "GET", "/api-v3/cell-counter-mappings/a/b/c", "", 404, []string{`{"message":"There is no such path`}},
		{"wrong method", "DELETE", "/queue/", "", 405, []string{`"code":405`, "Use POST"}},
		{"wrong method of several", "PUT", "/api-v3/cell-counter-mappings/55/", "", 405, []string{"Use DELETE or GET or HEAD or PATCH or POST"}},
		{"body one byte too large, announced", "POST", "/api-v3/sample-rerun/7001/auto", big, 413, []string{`"code":413`, "1048576"}},
		{"internal only path", "POST", "/report/9001/critical/evaluate", "{}", 404, []string{"no such path"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, body, header := send(t, public, request{method: c.method, path: c.path, body: c.body})
			if code != c.code || header.Get("Content-Type") != "application/json" {
				t.Errorf("response = %d %s %s, want %d as JSON", code, header.Get("Content-Type"), body, c.code)
			}
			for _, part := range append(c.want, "") {
				if !strings.Contains(body, part) {
					t.Errorf("body lacks %q: %s", part, body)
				}
			}
			for _, leak := range []string{"strconv", "proto:", "unmarshal", "runtime", "goroutine", "invalid syntax"} {
				if strings.Contains(body, leak) {
					t.Errorf("body contains the Go text %q: %s", leak, body)
				}
			}
		})
	}
}

func TestBodyOfUnknownLengthIsLimited(t *testing.T) {
	t.Parallel()
	b := &backend{}
	public := newEdge(t, b).Public()
	r := request{method: "POST", path: "/api-v3/sample-rerun/7001/auto", body: strings.Repeat(" ", 1<<20+1)}
	code, body, _ := sendChunked(t, public, r)
	if method, _, _ := b.seen(); code != 413 || method != "" {
		t.Fatalf("response = %d %s, called %q, want 413 and no call", code, body, method)
	}
}

func TestErrorsOfServicesAndTransport(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err  error
		code int
		want string
	}{
		{apperr.New(apperr.Conflict, "RERUN_OPEN", "A rerun is open."), 409, "A rerun is open."},
		{apperr.New(apperr.Unauthenticated, "X", "Log in."), 401, "Log in."},
		{errors.New("Error 1062: Duplicate entry 'Rahul'"), 500, "on our side"},
		{status.Error(codes.Unavailable, "connection error: dial tcp 127.0.0.1:9003"), 503, "Sample rerun does not answer"},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded"), 504, "took too long"},
		{status.Error(codes.Unimplemented, "unknown method ListReruns"), 501, "does not offer"},
		{status.Error(codes.ResourceExhausted, "grpc: received message larger than max"), 413, "too large"},
	}
	for _, c := range cases {
		code, body, header := send(t, newEdge(t, &backend{err: c.err}).Public(), request{method: "GET", path: "/api-v3/sample-rerun/7001"})
		if code != c.code || !strings.Contains(body, c.want) || strings.Contains(body, "Rahul") || strings.Contains(body, "127.0.0.1") {
			t.Errorf("%v: response = %d %s, want %d with %q", c.err, code, body, c.code, c.want)
		}
		if header.Get("X-Request-Id") == "" {
			t.Errorf("%v: response has no X-Request-Id", c.err)
		}
	}
}

func TestDangerousHeadersAreStripped(t *testing.T) {
	t.Parallel()
	b := &backend{}
	public := newEdge(t, b).Public()
	code, body, _ := send(t, public, request{method: "POST", path: "/api-v3/sample-rerun/7001/request", body: `{"type":"auto"}`, header: map[string]string{
		"x-is-internal-request": "True", "Grpc-Metadata-X-Is-Internal-Request": "True", "Grpc-Metadata-Authorization": "Bearer x",
		"Grpc-Timeout": "1n", "X-Http-Method-Override": "GET", "Cookie": "sessionid=asha", "Idempotency-Key": "k1", "X-Forwarded-For": "6.6.6.6",
	}})
	if code != 200 {
		t.Fatalf("response = %d %s, want 200", code, body)
	}
	method, md, _ := b.seen()
	if method != "/lab.rerun.v1.RerunService/RequestRerun" {
		t.Fatalf("called %s, want RequestRerun", method)
	}
	for key := range md {
		switch key {
		case "cookie", "idempotency-key", "x-request-id", "x-forwarded-for", "x-forwarded-host":
		default:
			t.Errorf("header %s was forwarded, want it stripped", key)
		}
	}
	if md.Get("cookie")[0] != "sessionid=asha" || md.Get("idempotency-key")[0] != "k1" {
		t.Errorf("metadata = %v, want the cookie and the idempotency key", md)
	}
}

func TestCrossOriginWriteWithACookieIsRefused(t *testing.T) {
	t.Parallel()
	foreign := map[string]string{"Cookie": "sessionid=asha", "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
	post := request{method: "POST", path: "/queue", body: "[]", header: foreign}
	public := newEdge(t, &backend{}).Public()
	if code, body, _ := send(t, public, post); code != 403 || !strings.Contains(body, `"code":403`) {
		t.Errorf("write with a cookie: response = %d %s, want 403", code, body)
	}
	foreign["Authorization"] = "Bearer token"
	if code, body, _ := send(t, public, post); code != 200 {
		t.Errorf("write with a bearer token: response = %d %s, want 200", code, body)
	}
	delete(foreign, "Authorization")
	if code, body, _ := send(t, public, request{method: "GET", path: "/api-v3/sample-rerun/7001", header: foreign}); code != 200 {
		t.Errorf("read with a cookie: response = %d %s, want 200", code, body)
	}
}

func TestBodiesArriveUnchangedAndResponsesAreAsDocumented(t *testing.T) {
	t.Parallel()
	b := &backend{reply: func(_ string, _, reply any, _ []grpc.CallOption) {
		if r, ok := reply.(*rerunv1.ListRerunsResponse); ok {
			r.Reruns = []*rerunv1.RerunValue{{XId: "a1", LabId: 12, Index: 3, Value: "4.2"}}
		}
	}}
	public := newEdge(t, b).Public()
	_, body, _ := send(t, public, request{method: "GET", path: "/api-v3/sample-rerun/7001"})
	if !strings.HasPrefix(body, `{"reruns":[{"_id":"a1","lab_id":12,"sample_id":"","value":"4.2"`) || !strings.Contains(body, `"original_value":null`) {
		t.Errorf("body = %s, want the documented one", body)
	}
	const data = `{"url":"http://x/","args":{"b":1.50,"a":12345678901234567890}}`
	send(t, public, request{method: "POST", path: "/queue/", body: `[{"task":4,"task_type":2,"data":` + data + `}]`})
	_, _, args := b.seen()
	enqueue, ok := args.(*taskqueuev1.EnqueueRequest)
	if !ok || len(enqueue.GetTasks()) != 1 || string(enqueue.GetTasks()[0].GetData().GetJson()) != data {
		t.Errorf("request = %v, want the data unchanged", args)
	}
}

func TestServiceMaySetTheStatusOfANormalBody(t *testing.T) {
	t.Parallel()
	b := &backend{reply: func(_ string, _, reply any, opts []grpc.CallOption) {
		if r, ok := reply.(*billsplitv1.SplitBillResponse); ok {
			r.Status, r.Message = "failed", "Bill split validation failed"
		}
		for _, option := range opts {
			if header, ok := option.(grpc.HeaderCallOption); ok {
				*header.HeaderAddr = metadata.Pairs("x-http-code", "400", "x-secret", "inside")
			}
		}
	}}
	code, body, header := send(t, newEdge(t, b).Public(), request{method: "POST", path: "/api-v3/finance/bill/split/9001", body: "{}"})
	if code != 400 || body != `{"status":"failed","failed_validation":[],"message":"Bill split validation failed","warnings":[]}` {
		t.Errorf("response = %d %s, want 400 with the service's body", code, body)
	}
	for key := range header {
		if strings.Contains(key, "Secret") || strings.HasPrefix(key, "Grpc-") {
			t.Errorf("response has the service's header %s, want it dropped", key)
		}
	}
}

func TestReferencePageNeedsNoSessionAndNoOtherHost(t *testing.T) {
	t.Parallel()
	public := newEdge(t, nil).Public()
	code, page, header := send(t, public, request{method: "GET", path: "/docs/"})
	if code != 200 || !strings.Contains(page, "/openapi.json") || strings.Contains(page, `="https://`) {
		t.Errorf("page: response = %d %s, want 200 without external URLs", code, page)
	}
	if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") {
		t.Errorf("Content-Security-Policy = %q, want default-src 'self'", policy)
	}
	if code, script, _ := send(t, public, request{method: "GET", path: "/docs/swagger-ui-bundle.js"}); code != 200 || len(script) < 100_000 {
		t.Errorf("script: status = %d, %d bytes, want 200 and at least 100,000", code, len(script))
	}
	code, document, header := send(t, public, request{method: "GET", path: "/openapi.json"})
	if code != 200 || header.Get("Content-Type") != "application/json" || !strings.Contains(document, `"/api-v3/sample-rerun/{lab_report_id}/auto"`) {
		t.Errorf("document: response = %d %.200s, want 200 as JSON", code, document)
	}
}

func TestInvalidPreferencesAreTheCallersFault(t *testing.T) {
	t.Parallel()
	b := &backend{err: apperr.InvalidField("labUserId", "labUserId must be a positive integer")}
	for body, want := range map[string]string{
		`[null, null]`: "must be an object", `{"labUserId":`: `"code":400`, ``: "labUserId must be a positive integer",
	} {
		code, response, _ := send(t, newEdge(t, b).Public(), request{method: "POST",
			path: "/api-v3/notifications/notification-type/user-preferences", body: body,
			header: map[string]string{"Content-Type": "application/json"}})
		if code != 400 || !strings.Contains(response, want) {
			t.Errorf("%q: response = %d %s, want 400 with %q", body, code, response, want)
		}
	}
}
