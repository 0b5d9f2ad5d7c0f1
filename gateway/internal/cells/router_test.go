package cells_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/gateway/internal/cells"
)

// cell starts a server that responds with its name, the request and its host.
func cell(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: first\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s: %s %s of %s: %s", name, r.Method, r.RequestURI, r.Host, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// directory writes a directory of two cells.
func directory(t *testing.T, file, a, b, laboratories string) {
	t.Helper()
	text := fmt.Sprintf(`{"cells": {"a": %q, "b": %q}, "laboratories": {%s}}`, a, b, laboratories)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	apolloInA = `"apollo.lab.example": {"cell": "a"}`
	careInB   = `"care.lab.example": {"cell": "b"}`
)

func send(t *testing.T, address, host, path, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s%s", response.StatusCode, response.Header.Get("Retry-After"), content)
}

// The test checks that each laboratory's requests reach its cell, and that moving one laboratory has no effect on the
// others.
func TestRequestsReachTheLaboratorysCell(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cells.json")
	a, b := cell(t, "a"), cell(t, "b")
	directory(t, file, a, b, apolloInA+","+careInB)
	registry := prometheus.NewRegistry()
	router, err := cells.New(file, slog.New(slog.DiscardHandler), registry)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(router)
	defer server.Close()
	want := func(what, host, path, want string) {
		t.Helper()
		if got := send(t, server.URL, host, path, "body"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: response = %s, want %s", what, got, want)
		}
	}
	want("first laboratory", "apollo.lab.example", "/api/v1/users/5?a=%2F", "200 a: POST /api/v1/users/5?a=%2F of apollo.lab.example: body")
	want("second laboratory", "care.lab.example", "/queue/", "200 b: POST /queue/ of care.lab.example: body")
	want("other notation of the host", "Apollo.LAB.example.:443", "/", "200 a: POST / of Apollo.LAB.example.:443")
	want("unknown host", "other.lab.example", "/", `404 {"code":404,"message":"No laboratory is known by this address.`)

	directory(t, file, a, b, `"apollo.lab.example": {"cell": "a", "moving": true},`+careInB)
	if err := router.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("moving laboratory", "apollo.lab.example", "/", `503 30{"code":503,"message":"This laboratory is moving`)
	want("other laboratory", "care.lab.example", "/", "200 b")

	if err := os.WriteFile(file, []byte(`{"cells": {}, "laboratories": {"apollo.lab.example": {"cell": "b"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := router.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), `there is no cell "b"`) {
		t.Errorf("Refresh without the cell: error = %v, want the cell named", err)
	}
	want("last known directory", "care.lab.example", "/", "200 b")

	directory(t, file, a, b, `"apollo.lab.example": {"cell": "b"},`+careInB)
	if err := router.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("moved laboratory", "apollo.lab.example", "/", "200 b: POST / of apollo.lab.example")
	const sent = `
		# HELP gateway_cell_requests_total Requests forwarded to a cell, by the class of its response; none if it did not respond.
		# TYPE gateway_cell_requests_total counter
		gateway_cell_requests_total{cell="a",code_class="2xx"} 2
		gateway_cell_requests_total{cell="b",code_class="2xx"} 4
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(sent), "gateway_cell_requests_total"); err != nil {
		t.Error(err)
	}
}

func TestEventsAreForwardedAtOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cells.json")
	directory(t, file, cell(t, "a"), cell(t, "b"), apolloInA)
	router, err := cells.New(file, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(router)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "apollo.lab.example"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || line != "data: first\n" {
		t.Errorf("line = %q, error %v, want the first event", line, err)
	}
}

func TestUnavailableCellIs503(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cells.json")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	directory(t, file, closed.URL, cell(t, "b"), apolloInA)
	router, err := cells.New(file, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(router)
	defer server.Close()
	if got := send(t, server.URL, "apollo.lab.example", "/", ""); !strings.HasPrefix(got, `503 1{"code":503,"message":"The laboratory's system`) {
		t.Errorf("response = %s, want 503 with Retry-After", got)
	}
}

func TestInvalidDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"no JSON":            {`cells`, "invalid character"},
		"a misspelled field": {`{"cels": {}}`, `unknown field "cels"`},
		"an unknown cell":    {`{"laboratories": {"x.example": {"cell": "c"}}}`, `laboratory x.example: there is no cell "c"`},
		"no address":         {`{"cells": {"a": "gateway:8090"}}`, "is not the address of a gateway"},
		"a path":             {`{"cells": {"a": "http://gateway/api"}}`, "is not the address of a gateway"},
		"a host with a port": {`{"cells": {"a": "http://g"}, "laboratories": {"x.example:80": {"cell": "a"}}}`, "write the host as x.example"},
		"a host in capitals": {`{"cells": {"a": "http://g"}, "laboratories": {"X.example": {"cell": "a"}}}`, "write the host as x.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "cells.json")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := cells.Read(file); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Read: error = %v, want %s", err, test.want)
			}
		})
	}
}
