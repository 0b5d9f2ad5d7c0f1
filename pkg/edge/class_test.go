package edge_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Requests to areas that are not deployed, requests that need missing settings, and event streams, which last while
// someone watches, have classes of their own, so that they count neither as errors nor as slow requests.
func TestRequestsAreCountedByClass(t *testing.T) {
	t.Parallel()
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	page := edge.Page{
		Route: "/page", Matches: func(path string) bool { return strings.HasPrefix(path, "/page/") },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/page/stream":
				w.Header().Set("Content-Type", "text/event-stream")
			case "/page/absent":
				w.WriteHeader(http.StatusNotImplemented)
			case "/page/broken":
				w.WriteHeader(http.StatusBadGateway)
			}
			_, _ = io.WriteString(w, "answer")
		}),
	}
	e, err := edge.New(t.Context(), edge.Deps{Telemetry: tel, Pages: []edge.Page{page}, Areas: []*edge.Area{edge.UserSearch()},
		Connections: map[string]grpc.ClientConnInterface{"search": backend{apperr.New(apperr.Unavailable, "NOT_CONFIGURED", "off")}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/page/whole", "/page/stream", "/page/absent", "/page/broken", "/nothing", "/api/v1/users/501"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		e.Public().ServeHTTP(httptest.NewRecorder(), request)
	}
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]bool{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if family.GetName() == "http_server_request_duration_seconds" && label.GetName() == "code_class" {
					classes[label.GetValue()] = true
				}
			}
		}
	}
	if got := slices.Sorted(maps.Keys(classes)); !slices.Equal(got, []string{"2xx", "4xx", "501", "5xx", "off", "stream"}) {
		t.Errorf("classes = %q, want 2xx, 4xx, 501, 5xx, off and stream", got)
	}
}
