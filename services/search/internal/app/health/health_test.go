package health_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/search/internal/app/health"
	"github.com/labplatform/labplatform/services/search/internal/freshness"
)

// state is a fake of the dependencies and of the data's freshness.
type state struct {
	down     string
	draining bool
	cdc      freshness.Status
}

func (s state) Reasons() []string { return nil }

func (s state) Dependencies() map[string]string {
	all := map[string]string{health.SearchIndex: "up", health.KeyValueCache: "up", health.RelationalDatabase: "up"}
	if s.down != "" {
		all[s.down] = "down"
	}
	return all
}

func (s state) Healthy() bool { return s.down == "" }

func (s state) Ready() bool { return s.Healthy() && !s.draining }

func (s state) Report() freshness.Report {
	age, at := 12.4, time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	return freshness.Report{Status: s.cdc, DataAgeSeconds: &age, ThresholdSeconds: 600, LastProbeAt: &at}
}

func TestTheBodiesAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	const (
		up   = `{"key_value_cache":"up","relational_database":"up","search_index":"up"}`
		down = `{"key_value_cache":"down","relational_database":"up","search_index":"up"}`
		cdc  = `"data_age_seconds":12.4,"threshold_seconds":600,"last_probe_at":"2026-11-21T09:00:00Z"}}`
	)
	cases := map[string]struct {
		state        state
		ready        int
		readyBody    string
		overall      string
		dependencies string
	}{
		"all is well":          {state{cdc: freshness.Healthy}, 200, "ready", "healthy", up},
		"the data is old":      {state{cdc: freshness.Stale}, 200, "ready", "degraded", up},
		"the age is not known": {state{cdc: freshness.Unknown}, 200, "ready", "degraded", up},
		"the cache is down":    {state{down: health.KeyValueCache, cdc: freshness.Healthy}, 503, "not_ready", "degraded", down},
		"leaving":              {state{draining: true, cdc: freshness.Healthy}, 503, "not_ready", "healthy", up},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			health.Register(mux, c.state, c.state)
			for path, want := range map[string]struct {
				code int
				body string
			}{
				"/health/live":  {200, `{"status":"alive"}`},
				"/health/ready": {c.ready, `{"status":"` + c.readyBody + `","dependencies":` + c.dependencies + `}`},
				"/health":       {200, `{"status":"` + c.overall + `","dependencies":` + c.dependencies + `,"cdc":{"status":"` + string(c.state.cdc) + `",` + cdc},
			} {
				recorder := httptest.NewRecorder()
				mux.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
				if got := strings.TrimSpace(recorder.Body.String()); recorder.Code != want.code || got != want.body {
					t.Errorf("%s answers %d %s\nwant %d %s", path, recorder.Code, got, want.code, want.body)
				}
				if kind := recorder.Header().Get("Content-Type"); kind != "application/json" {
					t.Errorf("%s is %s", path, kind)
				}
			}
		})
	}
}

// TestASlashAtTheEndChangesNothing checks that paths with and without a trailing slash give the same response, because
// probes use both.
func TestASlashAtTheEndChangesNothing(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	s := state{cdc: freshness.Healthy}
	health.Register(mux, s, s)
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	for _, path := range []string{"/health", "/health/live", "/health/ready"} {
		code, body := get(path)
		slashed, same := get(path + "/")
		if code != http.StatusOK || slashed != code || same != body {
			t.Errorf("%s answers %d %s, with a slash %d %s", path, code, body, slashed, same)
		}
	}
	if code, _ := get("/health/live/x"); code != http.StatusNotFound {
		t.Errorf("a path below is %d", code)
	}
}
