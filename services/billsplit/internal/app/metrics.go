package app

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// metrics implements the Observers of the use cases. Every series exists from the start.
type metrics struct {
	validated  *prometheus.CounterVec
	calculated *prometheus.CounterVec
	failures   *prometheus.CounterVec
	executed   prometheus.Counter
	moved      prometheus.Counter
	refused    prometheus.Counter
	replayed   prometheus.Counter
	merged     prometheus.Counter
	seconds    *prometheus.HistogramVec
}

var (
	_ family.Observer = (*metrics)(nil)
	_ split.Observer  = (*metrics)(nil)
)

const (
	valid   = "success"
	invalid = "failed"
)

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	one := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		validated:  vec("billsplit_validated_total", "Validations that wrote nothing, by their status.", "status"),
		calculated: vec("billsplit_calculated_total", "Calculations that wrote nothing, by their status.", "status"),
		failures:   vec("billsplit_failures_total", "Failed checks of executions, by type.", "type"),
		executed:   one("billsplit_executed_total", "Bills that were split."),
		moved:      one("billsplit_tests_moved_total", "Billed tests that moved to a new bill."),
		refused:    one("billsplit_refused_total", "Executions that failed a check; nothing was written."),
		replayed:   one("billsplit_replayed_total", "Executions that were answered again by their idempotency key."),
		merged:     one("billsplit_merged_total", "Splits that were undone."),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "billsplit_seconds", Help: "Time of a request, by mode.",
			Buckets: []float64{.002, .005, .01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12},
		}, []string{"mode"}),
	}
	for _, c := range []prometheus.Collector{m.validated, m.calculated, m.failures, m.executed, m.moved, m.refused,
		m.replayed, m.merged, m.seconds} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	m.start()
	return m, nil
}

// start makes every series exist.
func (m *metrics) start() {
	for _, status := range []string{valid, invalid} {
		m.validated.WithLabelValues(status)
		m.calculated.WithLabelValues(status)
	}
	for _, kind := range bill.FailureTypes() {
		m.failures.WithLabelValues(kind)
	}
	for _, mode := range append(split.Modes(), family.Modes()...) {
		m.seconds.WithLabelValues(mode)
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

// Took implements split.Observer and family.Observer.
func (m *metrics) Took(mode string, d time.Duration) {
	m.seconds.WithLabelValues(mode).Observe(d.Seconds())
}

func (m *metrics) Merged() { m.merged.Inc() }
