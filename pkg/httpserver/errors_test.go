package httpserver_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

func TestEnvelopeHasCodeMessageAndDetails(t *testing.T) {
	t.Parallel()
	wrong := apperr.InvalidFields(apperr.Field{Index: 2, Name: "key", Message: "key is already used"})
	conflict := apperr.New(apperr.Conflict, "SESSION_ACTIVE", "a session is active").WithDetails("session 123 by Dr. Smith")
	cases := []struct {
		name  string
		shape httpserver.Shape
		err   *apperr.Error
		code  int
		body  string
	}{
		{"envelope", httpserver.Envelope, conflict, 409, `{"code":409,"message":"a session is active","details":"session 123 by Dr. Smith"}`},
		{"envelope with fields", httpserver.Envelope, wrong, 400, `{"code":400,"message":"key is already used","details":"key is already used","errors":[{"index":2,"field":"key","message":"key is already used"}]}`},
	}
	for _, c := range cases {
		recorder := httptest.NewRecorder()
		status := httpserver.WriteError(recorder, c.shape, c.err)
		if status != c.code || recorder.Code != c.code {
			t.Errorf("%s: status = %d, want %d", c.name, recorder.Code, c.code)
		}
		if diff := cmp.Diff(c.body+"\n", recorder.Body.String()); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestEveryKindHasAStatus(t *testing.T) {
	t.Parallel()
	for kind := apperr.Internal; kind <= apperr.Canceled; kind++ {
		if s := httpserver.Status(kind); s < 400 || s > 599 {
			t.Errorf("status of kind %d = %d, want 400 to 599", kind, s)
		}
	}
}

func TestRetryAfterRoundsUpAndIsAlwaysSetOnOverload(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*apperr.Error{
		"1": apperr.New(apperr.Unavailable, "", "down"),
		"3": apperr.New(apperr.TooManyRequests, "", "busy").WithRetryAfter(2100 * time.Millisecond),
	} {
		recorder := httptest.NewRecorder()
		httpserver.WriteError(recorder, httpserver.Envelope, err)
		if got := recorder.Header().Get("Retry-After"); got != want {
			t.Errorf("Retry-After = %q, want %q", got, want)
		}
	}
}
