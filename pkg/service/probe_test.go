package service_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
)

// TestAReplicaThatAnsweredNothingYetIsAskedAgain: behind one name are two replicas in turn, and each counts only the
// requests that it answered itself.
func TestAReplicaThatAnsweredNothingYetIsAskedAgain(t *testing.T) {
	var asked int
	var answered [2]bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replica := asked % 2
		asked++
		switch {
		case r.URL.Path == "/openapi.json":
			answered[replica] = true
		case r.URL.Path == "/metrics" && answered[replica]:
			_, _ = io.WriteString(w, "http_requests 1\n")
		}
	}))
	defer server.Close()
	port, err := strconv.Atoi(server.URL[strings.LastIndex(server.URL, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	probe := service.Probe{Host: "127.0.0.1", Get: server.URL + "/openapi.json", Series: "http_requests", Out: io.Discard}
	if err := probe.Run(t.Context(), httpserver.Config{AdminPort: port}); err != nil {
		t.Error(err)
	}
	probe.Series = "nothing"
	if err := probe.Run(t.Context(), httpserver.Config{AdminPort: port}); err == nil {
		t.Error("a metric that is not there was found")
	}
}

func TestAnotherMachineThatIsNotThereYetIsAskedAgain(t *testing.T) {
	t.Parallel()
	var asked int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	port, err := strconv.Atoi(server.URL[strings.LastIndex(server.URL, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host string
		ok   bool
	}{{"127.0.0.1", false}, {"localhost", true}} {
		asked = 0
		probe := service.Probe{Host: c.host, Out: io.Discard}
		if err := probe.Run(t.Context(), httpserver.Config{AdminPort: port}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.host, err)
		}
	}
}
