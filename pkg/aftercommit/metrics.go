package aftercommit

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Metrics counts failed, dropped and waiting work.
type Metrics struct {
	failed, dropped *prometheus.CounterVec
	waiting         prometheus.Gauge
}

// NewMetrics registers the metrics of a queue for work with the names in tasks.
func NewMetrics(registry prometheus.Registerer, tasks ...string) *Metrics {
	m, task := telemetry.NewMetrics(registry), telemetry.By("task", tasks...)
	return &Metrics{
		failed: m.Counters("aftercommit_failed_total",
			"Tasks after a commit that failed; another mechanism repairs the loss.", task),
		dropped: m.Counters("aftercommit_dropped_total",
			"Tasks after a commit that never ran, because the queue was full or the process stopped.", task),
		waiting: m.Gauge("aftercommit_waiting", "Tasks after a commit waiting to run."),
	}
}
