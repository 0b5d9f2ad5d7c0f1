package httpserver_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return recorder.Code, recorder.Body.String()
}

func TestHealthReflectsTheDependency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		health := httpserver.NewHealth(quiet(), httpserver.Check{Name: "relational_database", Probe: func(context.Context) error {
			if down.Load() {
				return errors.New("connection refused")
			}
			return nil
		}})
		admin := httpserver.Admin(httpserver.Config{}, health, prometheus.NewRegistry())
		expect := func(moment string, ready int, status string) {
			t.Helper()
			if code, body := get(t, admin, "/health/ready"); code != ready {
				t.Fatalf("%s: /health/ready = %d %s, want %d", moment, code, body, ready)
			}
			if code, body := get(t, admin, "/health"); code != 200 || !strings.Contains(body, status) {
				t.Fatalf("%s: /health = %d %s, want 200 with %s", moment, code, body, status)
			}
			if code, _ := get(t, admin, "/health/live"); code != 200 {
				t.Fatalf("%s: /health/live = %d, want 200", moment, code)
			}
		}
		expect("before the first probe", 503, "degraded")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go health.Run(ctx)
		synctest.Wait()
		expect("up", 200, "healthy")

		down.Store(true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect("one failed probe", 200, "healthy")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect("two failed probes", 503, "degraded")

		down.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect("up again", 200, "healthy")

		health.Drain()
		expect("draining", 503, "healthy")
	})
}

// A dependency that needs 5 s for every response must become ready at its first probe. Later probes of 5 s count as
// failures.
func TestFirstProbeOfADependencyMayTakeLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const latency = 5 * time.Second
		health := httpserver.NewHealth(quiet(), httpserver.Check{Name: "queue", Probe: func(ctx context.Context) error {
			select {
			case <-time.After(latency):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go health.Run(ctx)
		time.Sleep(latency)
		synctest.Wait()
		if !health.Ready() {
			t.Error("Ready = false after a first response within 5s, want true")
		}
		time.Sleep(latency)
		synctest.Wait()
		if health.Ready() {
			t.Error("Ready = true after later probes of 5s, want false")
		}
	})
}

func TestServeLetsRequestsInFlightFinish(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	probe := httptest.NewUnstartedServer(nil) // only reserves a free port
	address := probe.Listener.Addr().String()
	probe.Listener.Close()

	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- httpserver.Server{Address: address, Handler: handler}.Run(ctx) }()
	got := make(chan string, 1)
	go func() {
		for t.Context().Err() == nil {
			response, err := http.Get("http://" + address)
			if err != nil {
				continue // the server does not listen yet
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			got <- string(body)
			return
		}
	}()
	<-entered
	stop()
	close(release)
	if body := <-got; body != "done" {
		t.Fatalf("body = %q, want done", body)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

func TestResponsesCloseTheirConnectionWhileDraining(t *testing.T) {
	t.Parallel()
	health := httpserver.NewHealth(quiet())
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpserver.Server{Handler: http.NotFoundHandler(), Draining: health.Draining}
	go func() { _ = server.Serve(t.Context(), listener) }()
	closes := func() bool {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String(), nil)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.Close
	}
	if closes() {
		t.Error("response closes its connection before draining, want it kept")
	}
	health.Drain()
	if !closes() {
		t.Error("response keeps its connection while draining, want it closed")
	}
}
