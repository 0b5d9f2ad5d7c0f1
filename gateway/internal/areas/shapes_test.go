package areas

import (
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

func TestEachAreaWritesItsDocumentedErrorBody(t *testing.T) {
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
		{"task queue", taskQueueShape, wrong, 400, `{"code":400,"message":"key is already used","errors":[{"index":2,"field":"key","message":"key is already used"}]}`},
		{"task queue without fields", taskQueueShape, conflict, 409, `{"code":409,"message":"a session is active"}`},
		{"cell counter 400", cellCounterShape, wrong, 400, `{"message":"key is already used","errors":[{"index":2,"field":"key","message":"key is already used"}]}`},
		{"cell counter 409", cellCounterShape, conflict, 409, `{"message":"a session is active"}`},
		{"cell counter with data", cellCounterShape, conflict.WithData(map[string]int{"version": 3}), 409, `{"message":"a session is active","data":{"version":3}}`},
		{"the envelope with data", httpserver.Envelope, conflict.WithData(map[string]int{"bill_id": 3}), 409, `{"code":409,"message":"a session is active","details":"session 123 by Dr. Smith","data":{"bill_id":3}}`},
		{"bill split", billSplitShape, wrong, 400, `{"status":"failed","failed_validation":[],"message":"key is already used","errors":[{"index":2,"field":"key","message":"key is already used"}]}`},
	}
	for _, c := range cases {
		recorder := httptest.NewRecorder()
		if status := httpserver.WriteError(recorder, c.shape, c.err); status != c.code || recorder.Code != c.code {
			t.Errorf("%s: status = %d, want %d", c.name, recorder.Code, c.code)
		}
		if diff := cmp.Diff(c.body+"\n", recorder.Body.String()); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", c.name, diff)
		}
	}
}
