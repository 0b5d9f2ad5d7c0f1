package aftercommit

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics tells the outcome of the work.
type Metrics struct {
	failed, dropped *prometheus.CounterVec
	waiting         prometheus.Gauge
}

// NewMetrics registers the metrics of a queue. The series of the named tasks exist from the start.
func NewMetrics(registry prometheus.Registerer, tasks ...string) (*Metrics, error) {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"task"})
	}
	m := &Metrics{
		failed:  vec("aftercommit_failed_total", "Work after a commit that failed; something else repairs it later."),
		dropped: vec("aftercommit_dropped_total", "Work after a commit that was not begun: too much of it, or a stop."),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "aftercommit_waiting", Help: "Work after a commit that waits."}),
	}
	for _, c := range []prometheus.Collector{m.failed, m.dropped, m.waiting} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register aftercommit metrics: %w", err)
		}
	}
	for _, task := range tasks {
		m.failed.WithLabelValues(task)
		m.dropped.WithLabelValues(task)
	}
	return m, nil
}
