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
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// The listener sets the deadlines, which the tests of pkg/httpserver cover. This test covers the edge's error response.

func TestSlowBodyIsReportedInTheAreasErrorBody(t *testing.T) {
	t.Parallel()
	body := io.MultiReader(strings.NewReader(`{"size":`), iotest.ErrReader(os.ErrDeadlineExceeded))
	recorder := httptest.NewRecorder()
	listener(t, backend{}).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/users/search", body))
	if recorder.Code != 408 || !strings.Contains(recorder.Body.String(), `{"code":408,"message":"The body arrived too slowly`) {
		t.Errorf("response = %d %s, want 408 with BODY_TOO_SLOW's message", recorder.Code, recorder.Body)
	}
}

// pausing is a body that returns one byte per minute.
type pausing struct{ left int }

func (p *pausing) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Minute)
	p.left--
	return copy(b, "x"), nil
}

func TestUploadDeadlineStartsWithItsLastByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		route := edge.Route{Method: http.MethodPost, Path: "/files", RPC: "/lab.files.v1.Files/Upload"}
		area := &edge.Area{
			Name: "files", Title: "Files", Prefixes: []string{"/files"}, Shape: httpserver.Envelope, Deadline: time.Second,
			Uploads: []edge.Upload{{Route: route, MaxBytes: 1 << 20, Deadline: 20 * time.Second}},
			Register: func(_ context.Context, mux *edge.Mux, _ grpc.ClientConnInterface) error {
				return mux.HandleUpload(route, func(ctx context.Context, r *http.Request, _ map[string]string, _ grpc.CallOption) (proto.Message, error) {
					if _, err := io.ReadAll(r.Body); err != nil {
						return nil, err
					}
					<-ctx.Done()
					return nil, status.FromContextError(ctx.Err()).Err() // the error that gRPC returns
				})
			},
		}
		e, err := edge.New(t.Context(), edge.Deps{Telemetry: tel, Areas: []*edge.Area{area}, Connections: map[string]grpc.ClientConnInterface{"files": backend{}}})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		recorder := httptest.NewRecorder()
		e.Public().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/files", &pausing{10}))
		if took := time.Since(begin); took != 10*time.Minute+20*time.Second || recorder.Code != 504 {
			t.Errorf("status = %d after %v, want 504 after 10m20s: %s", recorder.Code, took, recorder.Body)
		}
	})
}
