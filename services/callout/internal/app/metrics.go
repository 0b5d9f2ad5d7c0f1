package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/grpcapi"
	"github.com/labplatform/labplatform/services/callout/internal/reach"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// metrics holds the Prometheus metrics that the use cases and loops update.
type metrics struct {
	clock    clock.Clock
	duration *prometheus.HistogramVec

	evaluated, critical, spared, escalated, exhausted, corrected, unclear, off, swept prometheus.Counter
	saved, reaped                                                                     *prometheus.CounterVec
	open, overdue, silent, oldest, watching                                           prometheus.Gauge
}

var (
	_ evaluate.Counters = (*metrics)(nil)
	_ grpcapi.Durations = (*metrics)(nil)
	_ livefeed.Gauge    = (*metrics)(nil)
	_ reach.Counters    = (*metrics)(nil)
	_ reap.Counters     = (*metrics)(nil)
	_ save.Counters     = (*metrics)(nil)
	_ sweep.Counters    = (*metrics)(nil)
)

const (
	draft     = "draft"
	completed = "completed"
)

func newMetrics(registry prometheus.Registerer, c clock.Clock) *metrics {
	m := telemetry.NewMetrics(registry)
	return &metrics{
		clock: c,
		duration: m.Histograms("callout_operation_seconds", "Duration of an operation in seconds.",
			prometheus.ExponentialBuckets(0.001, 2, 13), telemetry.By("operation", grpcapi.Operations()...)),
		evaluated: m.Counter("callout_reports_evaluated_total", "Reports evaluated for critical values."),
		critical:  m.Counter("callout_reports_critical_total", "Announcements of critical values, one for each report and evaluation."),
		spared:    m.Counter("callout_suppressed_total", "Suppressions of calls by the repeat policy, one for each report and set of values."),
		saved: m.Counters("callout_saved_total", "Reports of saved callouts, by kind; draft includes calls that were not read back.",
			telemetry.By("kind", draft, completed)),
		escalated: m.Counter("callout_escalated_total", "Evaluations that escalated overdue reports or reminded of them, usually one for each bill."),
		exhausted: m.Counter("callout_exhausted_total", "Reports escalated for the last time."),
		corrected: m.Counter("callout_corrected_total",
			"Statements that a person had heard and that were taken back."),
		unclear: m.Counter("callout_unclear_total", "Values that cannot be compared with their critical limits."),
		off: m.Counter("callout_notices_off_total",
			"Notices not sent because the laboratory has their type of notification switched off."),
		open:    m.Gauge("callout_open_reports", "Critical reports that wait for a callout, in all laboratories."),
		overdue: m.Gauge("callout_overdue_reports", "Open critical reports whose first deadline has passed."),
		silent:  m.Gauge("callout_exhausted_reports", "Open critical reports whose escalations are exhausted."),
		oldest:  m.Gauge("callout_oldest_wait_seconds", "Age of the oldest open critical report in seconds."),
		reaped: m.Counters("callout_reaped_total", "Inconsistencies found by the reaper, by kind.",
			telemetry.By("what", reap.Kinds()...)),
		swept:    m.Counter("callout_swept_total", "Reports that the sweeper found changed, or with a changed input, since their last evaluation."),
		watching: m.Gauge("callout_event_streams", "Open boards."),
	}
}

func (m *metrics) Measure(ctx context.Context, operation string) func() {
	begin := m.clock.Now()
	return func() {
		telemetry.Observe(ctx, m.duration.WithLabelValues(operation), m.clock.Now().Sub(begin).Seconds())
	}
}

func (m *metrics) Evaluated(reports int, c callout.Counts) {
	m.evaluated.Add(float64(reports))
	m.critical.Add(float64(c.Critical))
	m.spared.Add(float64(c.Suppressed))
	m.corrected.Add(float64(c.Corrected))
	m.unclear.Add(float64(c.Unclear))
	m.exhausted.Add(float64(c.Exhausted))
}

func (m *metrics) Saved(isDraft bool, reports int) {
	kind := completed
	if isDraft {
		kind = draft
	}
	m.saved.WithLabelValues(kind).Add(float64(reports))
}

func (m *metrics) Escalated() { m.escalated.Inc() }

func (m *metrics) NoticeOff() { m.off.Inc() }

// Waiting sets the gauges of waiting reports. A process that is not the leader passes nil, which sets them to zero.
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
