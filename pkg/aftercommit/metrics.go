package aftercommit

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts failed, dropped and waiting work.
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
		failed:  vec("aftercommit_failed_total", "Tasks after a commit that failed; another mechanism repairs the loss."),
		dropped: vec("aftercommit_dropped_total", "Tasks after a commit that never ran, because the queue was full or the process stopped."),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "aftercommit_waiting", Help: "Tasks after a commit waiting to run."}),
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
