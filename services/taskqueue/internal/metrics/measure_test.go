package metrics_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func TestWhatIsDueIsMeasuredApartFromWhatIsScheduledAndWhatEnded(t *testing.T) {
	t.Parallel()
	set := engine.DefaultSettings()
	set.Archive = true
	q := enginetest.New(clock.System{}, set)
	ids := job.NewGenerator(clock.System{})
	lane := job.Lane{Channel: job.Email, Priority: job.Low}
	for _, due := range []int64{0, 0, 0, time.Now().Add(time.Hour).UnixMilli()} {
		id := ids.Next(0, lane)
		b := engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Hour, Jobs: []engine.NewJob{{ID: id, DueMs: due, Body: []byte("x")}}}
		if _, err := q.Enqueue(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Email, Max: 1})
	if err != nil {
		t.Fatal(err)
	}
	failed := []engine.Settlement{{ID: c.Jobs[0].ID, Token: c.Token, Op: engine.OpFail, Payload: []byte("r")}}
	if _, err := q.Settle(t.Context(), 0, job.Email, failed); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	m := metrics.New(registry)
	for _, to := range []job.Destination{job.ToPath(12, "https://a:443", "/x"), job.ToPath(12, "https://a:443", "/y"), "via:sms:a"} {
		if err := q.Hold(t.Context(), to, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Measure(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	got := values(t, registry)
	for name, want := range map[string]float64{
		"taskqueue_lane_jobs email low": 3, "taskqueue_ready_jobs email low": 2, "taskqueue_scheduled_jobs email low": 1,
		"taskqueue_dead_jobs": 1, "taskqueue_archive_backlog_jobs": 1, "taskqueue_receivers_paused": 2,
		"taskqueue_refused_total laboratory_full": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
}

// values returns the gauges and counters of a registry by name and label values.
func values(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}
