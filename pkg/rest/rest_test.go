package rest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/rest"
)

func TestTheEnvelopeHoldsCodeMessageAndDetails(t *testing.T) {
	t.Parallel()
	wrong := apperr.InvalidFields(apperr.Field{Index: 2, Name: "key", Message: "key is already used"})
	conflict := apperr.New(apperr.Conflict, "SESSION_ACTIVE", "a session is active").WithDetails("session 123 by Dr. Smith")
	cases := []struct {
		name  string
		shape rest.Shape
		err   *apperr.Error
		code  int
		body  string
	}{
		{"envelope", rest.Envelope, conflict, 409, `{"code":409,"message":"a session is active","details":"session 123 by Dr. Smith"}`},
		{"envelope with fields", rest.Envelope, wrong, 400, `{"code":400,"message":"key is already used","details":"key is already used"}`},
	}
	for _, c := range cases {
		recorder := httptest.NewRecorder()
		status := rest.WriteError(recorder, c.shape, c.err)
		if status != c.code || recorder.Code != c.code {
			t.Errorf("%s: status %d", c.name, recorder.Code)
		}
		if diff := cmp.Diff(c.body+"\n", recorder.Body.String()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestEveryKindHasAStatus(t *testing.T) {
	t.Parallel()
	for kind := apperr.Internal; kind <= apperr.Canceled; kind++ {
		if s := rest.Status(kind); s < 400 || s > 599 {
			t.Errorf("kind %d has status %d", kind, s)
		}
	}
}

func TestRetryAfterRoundsUpAndIsNeverMissingOnOverload(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*apperr.Error{
		"1": apperr.New(apperr.Unavailable, "", "down"),
		"3": apperr.New(apperr.TooManyRequests, "", "busy").WithRetryAfter(2100 * time.Millisecond),
	} {
		recorder := httptest.NewRecorder()
		rest.WriteError(recorder, rest.Envelope, err)
		if got := recorder.Header().Get("Retry-After"); got != want {
			t.Errorf("Retry-After %q, want %q", got, want)
		}
	}
}

func TestOnlyListedHeadersPassInwards(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"Cookie": true, "Authorization": false, "traceparent": true, "Idempotency-Key": true,
		"Grpc-Metadata-X-Is-Internal-Request": false, "Host": false, "X-Forwarded-For": false, "Grpc-Timeout": false,
	} {
		if _, ok := rest.MatchIncoming(key); ok != want {
			t.Errorf("%s passes: %v", key, ok)
		}
	}
	header := http.Header{}
	for _, key := range []string{"x-is-internal-request", "Grpc-Metadata-X-Is-Internal-Request", "Grpc-Timeout", "x-http-method-override", "Cookie"} {
		header.Add(key, "True")
	}
	rest.StripHeaders(header)
	if diff := cmp.Diff(http.Header{"Cookie": {"True"}}, header); diff != "" {
		t.Error(diff)
	}
}

func TestTrimSlash(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"/": "/", "/queue/": "/queue", "/queue": "/queue", "/queue//": "/queue/"} {
		if got := rest.TrimSlash(in); got != want {
			t.Errorf("%s became %s", in, got)
		}
	}
}
