package areas_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
)

func TestInternalListenerAcceptsServicesOnly(t *testing.T) {
	t.Parallel()
	good := serviceToken(t, "taskqueue", "gateway")
	cases := []struct {
		name   string
		header map[string]string
		code   int
	}{
		{"service token and header", map[string]string{"Authorization": good, "X-Is-Internal-Request": "True"}, 200},
		{"header in another case", map[string]string{"Authorization": good, "x-is-internal-request": "tRUE"}, 200},
		{"no header", map[string]string{"Authorization": good}, 401},
		{"no token", map[string]string{"X-Is-Internal-Request": "True"}, 401},
		{"a session", map[string]string{"Cookie": "sessionid=asha", "X-Is-Internal-Request": "True"}, 401},
		{"a token for another service", map[string]string{"Authorization": serviceToken(t, "taskqueue", "rerun"), "X-Is-Internal-Request": "True"}, 401},
		{"a user's token", map[string]string{"Authorization": "Bearer e30.e30.e30", "X-Is-Internal-Request": "True"}, 401},
	}
	for _, c := range cases {
		b := &backend{}
		code, body, _ := send(t, newEdge(t, b).Internal(), request{"POST", "/api-v3/sample-rerun/7001/request/", `{"type":"auto"}`, c.header})
		method, _, _ := b.seen()
		if code != c.code || (method != "") != (c.code == 200) {
			t.Errorf("%s: response = %d %s, called %q, want %d", c.name, code, body, method, c.code)
		}
	}
}

func TestPublicListenerRefusesServiceTokensOfAnyAudience(t *testing.T) {
	t.Parallel()
	for _, audience := range []string{"gateway", "rerun", "taskqueue"} {
		for _, scheme := range []string{"Bearer ", "bearer  ", "Basic ", ""} {
			b := &backend{}
			token := scheme + strings.TrimPrefix(serviceToken(t, "rerun", audience), "Bearer ")
			code, body, _ := send(t, newEdge(t, b).Public(), request{"POST", "/api-v3/sample-rerun/7001/request", `{"lab_id":13}`, map[string]string{"Authorization": token}})
			if method, _, _ := b.seen(); code != 401 || method != "" || !strings.Contains(body, `"code":401`) {
				t.Errorf("%s%s: response = %d %s, called %q, want 401 and no call", scheme, audience, code, body, method)
			}
		}
	}
}

func TestInternalListenerUsesItsOwnTokenThatNamesTheCaller(t *testing.T) {
	t.Parallel()
	b := &backend{}
	header := map[string]string{"Authorization": serviceToken(t, "taskqueue", "gateway"), "X-Is-Internal-Request": "True", "Cookie": "sessionid=asha", "Grpc-Metadata-X": "y"}
	send(t, newEdge(t, b).Internal(), request{"POST", "/api-v3/sample-rerun/7001/request", `{"type":"auto"}`, header})
	_, md, _ := b.seen()
	if len(md.Get("cookie")) != 0 || md.Get("x-is-internal-request")[0] != "True" || len(md.Get("x")) != 0 {
		t.Fatalf("metadata = %v, want the internal mark only", md)
	}
	token := strings.TrimPrefix(md.Get("authorization")[0], "Bearer ")
	caller, err := authn.NewServiceTokens(secret, "rerun", clock.System{}).Verify(token, "rerun")
	if err != nil || caller != "taskqueue" {
		t.Fatalf("caller = %q, error %v, want taskqueue", caller, err)
	}
}

func sendChunked(t *testing.T, handler http.Handler, r request) (int, string, http.Header) {
	t.Helper()
	// A reader of unknown type has no Content-Length.
	body := struct{ io.Reader }{strings.NewReader(r.body)}
	request := httptest.NewRequestWithContext(t.Context(), r.method, r.path, body)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String(), recorder.Header()
}
