package app

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/grpcapi"
	"github.com/labplatform/labplatform/services/callout/internal/live"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
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
	exhausted prometheus.Counter
	corrected prometheus.Counter
	unclear   prometheus.Counter
	off       prometheus.Counter
	open      prometheus.Gauge
	overdue   prometheus.Gauge
	silent    prometheus.Gauge
	oldest    prometheus.Gauge
	reaped    *prometheus.CounterVec
	swept     prometheus.Counter
	watching  prometheus.Gauge
}

var (
	_ escalate.Counters = (*metrics)(nil)
	_ evaluate.Counters = (*metrics)(nil)
	_ grpcapi.Durations = (*metrics)(nil)
	_ live.Gauge        = (*metrics)(nil)
	_ reap.Counters     = (*metrics)(nil)
	_ save.Counters     = (*metrics)(nil)
	_ sweep.Counters    = (*metrics)(nil)
)

const (
	draft     = "draft"
	completed = "completed"
)

func newMetrics(registry prometheus.Registerer, c clock.Clock) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
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
		exhausted: counter("callout_exhausted_total", "Reports that were escalated for the last time: no one is told again."),
		corrected: counter("callout_corrected_total", "Reports of which a called value was corrected to not critical."),
		unclear:   counter("callout_unclear_total", "Values with critical limits that cannot be judged."),
		off: counter("callout_notices_off_total",
			"Notices that no one got: the laboratory has the type of notification switched off."),
		open:    gauge("callout_open_reports", "Reports that wait for a callout, in all laboratories."),
		overdue: gauge("callout_overdue_reports", "Those of them whose first deadline has passed."),
		silent:  gauge("callout_exhausted_reports", "Those of them that are not escalated any more."),
		oldest:  gauge("callout_oldest_wait_seconds", "How long the one waits that waits longest."),
		reaped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callout_reaped_total", Help: "What the reaper found out of line.",
		}, []string{"what"}),
		swept:    counter("callout_swept_total", "Reports that changed and that no one had asked to evaluate."),
		watching: gauge("callout_event_streams", "Open boards."),
	}
	for _, c := range []prometheus.Collector{
		m.duration, m.evaluated, m.critical, m.spared, m.saved, m.escalated, m.reaped, m.swept, m.watching,
		m.exhausted, m.corrected, m.unclear, m.off, m.open, m.overdue, m.silent, m.oldest,
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

func (m *metrics) Measure(ctx context.Context, operation string) func() {
	begin := m.clock.Now()
	return func() {
		telemetry.Observe(ctx, m.duration.WithLabelValues(operation), m.clock.Now().Sub(begin).Seconds())
	}
}

func (m *metrics) Evaluated(c evaluate.Counts) {
	m.evaluated.Add(float64(c.Reports))
	m.critical.Add(float64(c.Critical))
	m.spared.Add(float64(c.Suppressed))
	m.corrected.Add(float64(c.Corrected))
	m.unclear.Add(float64(c.Unclear))
}

func (m *metrics) Saved(isDraft bool, reports int) {
	kind := completed
	if isDraft {
		kind = draft
	}
	m.saved.WithLabelValues(kind).Add(float64(reports))
}

func (m *metrics) Escalated(exhausted int) {
	m.escalated.Inc()
	m.exhausted.Add(float64(exhausted))
}

func (m *metrics) NoticeOff() { m.off.Inc() }

// Waiting implements reap.Counters. A process that another one kept from leading shows nothing.
func (m *metrics) Waiting(f *reap.Figures) {
	if f == nil {
		f = &reap.Figures{}
	}
	m.open.Set(float64(f.Open))
	m.overdue.Set(float64(f.Overdue))
	m.silent.Set(float64(f.Exhausted))
	m.oldest.Set(f.Oldest.Seconds())
}

func (m *metrics) Reaped(what string, n int) { m.reaped.WithLabelValues(what).Add(float64(n)) }

func (m *metrics) Swept(reports int) { m.swept.Add(float64(reports)) }

func (m *metrics) Watching(change int) { m.watching.Add(float64(change)) }
