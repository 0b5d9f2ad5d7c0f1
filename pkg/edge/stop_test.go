package edge_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

func TestRequestEndedByAStopGets503WithRetryAfter(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	end(httpserver.ErrStopping)
	recorder := httptest.NewRecorder()
	body := io.MultiReader(strings.NewReader(`{"size":`), iotest.ErrReader(os.ErrDeadlineExceeded))
	listener(t, backend{}).ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/v1/users/search", body))
	if recorder.Code != 503 || recorder.Header().Get("Retry-After") == "" {
		t.Errorf("response = %d %v %s, want 503 with Retry-After", recorder.Code, recorder.Header(), recorder.Body)
	}
}
