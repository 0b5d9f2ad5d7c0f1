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

// Two replicas respond in turn, and each has the series only after its first request. The probe must succeed for both.
func TestReplicaWithoutARequestIsProbedAgain(t *testing.T) {
	var requests int
	var served [2]bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replica := requests % 2
		requests++
		switch {
		case r.URL.Path == "/openapi.json":
			served[replica] = true
		case r.URL.Path == "/metrics" && served[replica]:
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
		t.Error("Run = nil for a missing metric, want an error")
	}
}

func TestOnlyAnotherMachineIsProbedAgain(t *testing.T) {
	t.Parallel()
	var requests int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests == 1 {
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
		requests = 0
		probe := service.Probe{Host: c.host, Out: io.Discard}
		if err := probe.Run(t.Context(), httpserver.Config{AdminPort: port}); (err == nil) != c.ok {
			t.Errorf("Run for %s = %v, success should be %t", c.host, err, c.ok)
		}
	}
}
