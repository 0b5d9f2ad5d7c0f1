package httpserver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

// safe is an error whose text may be shown.
type safe struct{}

func (safe) Error() string  { return "the schema is older" }
func (safe) Reason() string { return "the schema is older" }

func TestHealthShowsSafeReasonsAndNotes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		health := httpserver.NewHealth(slog.New(slog.NewTextHandler(&log, nil)),
			httpserver.Check{Name: "database", Probe: func(context.Context) error { return fmt.Errorf("probe: %w", safe{}) }},
			httpserver.Check{Name: "cache", Probe: func(context.Context) error { return errors.New("a key of a caller") }},
			httpserver.Check{Name: "index", Probe: func(context.Context) error { return nil }})
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = health.Run(ctx) }()
		synctest.Wait()
		stop()
		for range 3 {
			health.Note("index", "it is newer than this release")
		}
		for _, path := range []string{"/health", "/health/ready"} {
			recorder := httptest.NewRecorder()
			httpserver.Admin(httpserver.Config{}, health, prometheus.NewRegistry()).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
			body := recorder.Body.String()
			if !strings.Contains(body, `"reasons":["database: the schema is older"]`) || strings.Contains(body, "caller") ||
				!strings.Contains(body, `"notes":["index: it is newer than this release"]`) {
				t.Errorf("%s: body = %s, want the safe reason and the note only", path, body)
			}
		}
		if n := strings.Count(log.String(), "it is newer"); n != 1 {
			t.Errorf("note logged %d times, want once", n)
		}
		health.Note("index", "")
		if notes := health.Notes(); len(notes) != 0 {
			t.Errorf("notes after removal = %v, want none", notes)
		}
	})
}
