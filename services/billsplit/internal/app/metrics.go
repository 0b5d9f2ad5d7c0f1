package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// metrics holds the Prometheus metrics that the use cases update.
type metrics struct {
	validated, calculated, failures            *prometheus.CounterVec
	executed, moved, refused, replayed, merged prometheus.Counter
	seconds                                    *prometheus.HistogramVec
}

var (
	_ family.Observer = (*metrics)(nil)
	_ split.Observer  = (*metrics)(nil)
)

const (
	valid   = "success"
	invalid = "failed"
)

func newMetrics(registry prometheus.Registerer) *metrics {
	m := telemetry.NewMetrics(registry)
	status := telemetry.By("status", valid, invalid)
	return &metrics{
		validated:  m.Counters("billsplit_validated_total", "Validations, which write nothing, by status.", status),
		calculated: m.Counters("billsplit_calculated_total", "Calculations, which write nothing, by status.", status),
		failures: m.Counters("billsplit_failures_total", "Failed checks of executions, by type.",
			telemetry.By("type", bill.FailureTypes()...)),
		executed: m.Counter("billsplit_executed_total", "Bills split."),
		moved:    m.Counter("billsplit_tests_moved_total", "Billed tests moved to a new bill."),
		refused:  m.Counter("billsplit_refused_total", "Executions that failed a check and wrote nothing."),
		replayed: m.Counter("billsplit_replayed_total", "Repeated executions answered by their idempotency key."),
		merged:   m.Counter("billsplit_merged_total", "Splits undone by a merge."),
		seconds: m.Histograms("billsplit_seconds", "Duration of a request in seconds, by mode.",
			[]float64{.002, .005, .01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12},
			telemetry.By("mode", append(split.Modes(), family.Modes()...)...)),
	}
}

func status(failed bool) string {
	if failed {
		return invalid
	}
	return valid
}

func (m *metrics) Validated(failed bool) { m.validated.WithLabelValues(status(failed)).Inc() }

func (m *metrics) Calculated(failed bool) { m.calculated.WithLabelValues(status(failed)).Inc() }

func (m *metrics) Executed(tests int) {
	m.executed.Inc()
	m.moved.Add(float64(tests))
}

func (m *metrics) Replayed() { m.replayed.Inc() }

func (m *metrics) Refused(failures []bill.Failure) {
	m.refused.Inc()
	for _, f := range failures {
		m.failures.WithLabelValues(f.Type).Inc()
	}
}

func (m *metrics) Took(mode string, d time.Duration) {
	m.seconds.WithLabelValues(mode).Observe(d.Seconds())
}

func (m *metrics) Merged() { m.merged.Inc() }
