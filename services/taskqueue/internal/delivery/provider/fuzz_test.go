package provider_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/testkit/allocation"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// FuzzAnAnswerOfAProviderIsClassified checks that every response becomes a failure of a known class, with a limited
// delay and without text from the provider. Text found at a path must be in the response. Memory must be proportional
// to the size of the response.
func FuzzAnAnswerOfAProviderIsClassified(f *testing.F) {
	f.Add(200, "", []byte(`{"sid":"SM1","data":[{"id":7}]}`), "data.0.id")
	f.Add(400, "30", []byte(`{"code":21211,"message":"+919812345678 is no number"}`), "code")
	f.Add(429, "9223372037", []byte(`{"error":{"code":1e400}}`), "error.code")
	f.Add(503, "Fri, 20 Nov 2026 10:02:00 GMT", []byte(strings.Repeat("[", 16<<10)), "0.0.0")
	f.Add(502, "-1", []byte(`{"a":`+strings.Repeat("{\"a\":", 3000)), "a.a")
	f.Add(100, "", []byte(`{"id":"\u0000\ud800"}`), "id")
	codes := provider.Codes{Prefix: "fuzz_", Limits: []int{1}, Passing: []int{2}, Message: []int{3}, Account: []int{4}}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, status int, wait string, body []byte, at string) {
		answer := &netguard.Response{Status: status, Header: http.Header{"Retry-After": {wait}}, Body: body}
		var found string
		var failure *job.Failure
		allocation.AtMost(t, 1<<20+200*len(body), func() {
			found, _ = provider.Lookup(body, at)
			failure = job.AsFailure(codes.Failure(answer, provider.Code(body, at), now))
		})
		if len(found) > 3*len(body) {
			t.Errorf("%q at %q of %q", found, at, body)
		}
		if failure.RetryAfter < 0 || failure.RetryAfter > time.Hour {
			t.Errorf("a wait of %v, want 0 to an hour", failure.RetryAfter)
		}
		if len(failure.Reason) > 40 || len(failure.Message) > 120 || failure.Doubtful && failure.Permanent {
			t.Errorf("%+v for %d and %q", failure, status, body)
		}
	})
}
