package edge_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/telemetry"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
)

// backend is a service that returns err or one user. The gateway's tests cover every documented path of every area;
// these tests use one area.

type backend struct{ err error }

func (b backend) Invoke(ctx context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("no deadline")
	}
	if b.err != nil {
		return rpcerr.ToStatus(b.err).Err()
	}
	if answer, ok := reply.(*searchv1.GetUserResponse); ok {
		answer.User = &searchv1.User{UserId: 501}
	}
	return nil
}

func (backend) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("streams are not supported")
}

func listener(t *testing.T, c grpc.ClientConnInterface) http.Handler {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "search", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	e, err := edge.New(t.Context(), edge.Deps{Telemetry: tel, Areas: []*edge.Area{edge.UserSearch()}, Connections: map[string]grpc.ClientConnInterface{"search": c}})
	if err != nil {
		t.Fatal(err)
	}
	return e.Public()
}

func TestSingleAreaServesItsPathsOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path, body string
		err                error
		code               int
		want               string
	}{
		"a path":                  {"GET", "/api/v1/users/501", "", nil, 200, `{"user":{"user_id":501`},
		"with a slash":            {"GET", "/api/v1/users/501/", "", nil, 200, `{"user":{"user_id":501`},
		"another method":          {"GET", "/api/v1/users/search/x", "", nil, 404, "There is no such path"},
		"the wrong method":        {"DELETE", "/api/v1/users/501", "", nil, 405, "Use GET"},
		"another area":            {"GET", "/api-v3/sample-rerun/1", "", nil, 404, "There is no such path"},
		"a bad number":            {"GET", "/api/v1/users/x", "", nil, 400, "user_id must be a whole number"},
		"a bad body":              {"POST", "/api/v1/users/search", `{"size":"many"}`, nil, 400, "size must be an integer"},
		"an error of the service": {"GET", "/api/v1/users/501", "", apperr.New(apperr.NotFound, "X", "No such patient."), 404, `{"code":404,"message":"No such patient.","details":""}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := httptest.NewRecorder()
			listener(t, backend{test.err}).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader(test.body)))
			if body := recorder.Body.String(); recorder.Code != test.code || !strings.Contains(body, test.want) {
				t.Errorf("response = %d %s, want %d with %s", recorder.Code, body, test.code, test.want)
			}
		})
	}
}
