package app

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/callout/internal/grpcapi"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
)

// metrics implements the Counters of the use cases and loops. Every series exists from the start.
type metrics struct {
	clock     clock.Clock
	duration  *prometheus.HistogramVec
	evaluated prometheus.Counter
	critical  prometheus.Counter
	spared    prometheus.Counter
	saved     *prometheus.CounterVec
	escalated prometheus.Counter
	reaped    *prometheus.CounterVec
	swept     prometheus.Counter
	watching  prometheus.Gauge
}

const (
	draft     = "draft"
	completed = "completed"
)

func newMetrics(registry prometheus.Registerer, c clock.Clock) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		clock: c,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "callout_operation_seconds",
			Help:    "How long an operation took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 13),
		}, []string{"operation"}),
		evaluated: counter("callout_reports_evaluated_total", "Reports whose values were judged."),
		critical:  counter("callout_reports_critical_total", "Reports that began to wait for a callout."),
		spared:    counter("callout_suppressed_total", "Calls that a laboratory's policy for repeated values spared."),
		saved: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callout_saved_total", Help: "Reports of callouts that were recorded.",
		}, []string{"kind"}),
		escalated: counter("callout_escalated_total", "Deadlines of bills that passed without a callout."),
		reaped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callout_reaped_total", Help: "What the reaper found out of line.",
		}, []string{"what"}),
		swept:    counter("callout_swept_total", "Reports that changed and that nobody had asked to evaluate."),
		watching: prometheus.NewGauge(prometheus.GaugeOpts{Name: "callout_event_streams", Help: "Open boards."}),
	}
	for _, c := range []prometheus.Collector{
		m.duration, m.evaluated, m.critical, m.spared, m.saved, m.escalated, m.reaped, m.swept, m.watching,
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	m.start()
	return m, nil
}

// start makes every series exist.
func (m *metrics) start() {
	for _, operation := range grpcapi.Operations() {
		m.duration.WithLabelValues(operation)
	}
	for _, kind := range []string{draft, completed} {
		m.saved.WithLabelValues(kind)
	}
	for _, what := range reap.Repairs() {
		m.reaped.WithLabelValues(what)
	}
}

// Measure implements grpcapi.Durations.
func (m *metrics) Measure(ctx context.Context, operation string) func() {
	begin := m.clock.Now()
	return func() {
		telemetry.Observe(ctx, m.duration.WithLabelValues(operation), m.clock.Now().Sub(begin).Seconds())
	}
}

// Evaluated implements evaluate.Counters.
func (m *metrics) Evaluated(reports, becameCritical, suppressed int) {
	m.evaluated.Add(float64(reports))
	m.critical.Add(float64(becameCritical))
	m.spared.Add(float64(suppressed))
}

// Saved implements save.Counters.
func (m *metrics) Saved(isDraft bool, reports int) {
	kind := completed
	if isDraft {
		kind = draft
	}
	m.saved.WithLabelValues(kind).Add(float64(reports))
}

// Escalated implements escalate.Counters.
func (m *metrics) Escalated(int) { m.escalated.Inc() }

// Reaped implements reap.Counters.
func (m *metrics) Reaped(what string, n int) { m.reaped.WithLabelValues(what).Add(float64(n)) }

// Swept implements sweep.Counters.
func (m *metrics) Swept(reports int) { m.swept.Add(float64(reports)) }

// Watching implements live.Gauge.
func (m *metrics) Watching(change int) { m.watching.Add(float64(change)) }
