package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/grpcapi"
)

// metrics holds the Prometheus metrics that the use cases and the transport update.
type metrics struct {
	saved   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

var (
	_ configure.Observer = (*metrics)(nil)
	_ grpcapi.Observer   = (*metrics)(nil)
)

const (
	inserted = "inserted"
	updated  = "updated"
	deleted  = "deleted"
)

func newMetrics(registry prometheus.Registerer) *metrics {
	m := telemetry.NewMetrics(registry)
	return &metrics{
		saved: m.Counters("cellcounter_mappings_saved_total", "Mappings written, by change.",
			telemetry.By("change", inserted, updated, deleted)),
		seconds: m.Histograms("cellcounter_operation_seconds", "Duration of an operation in seconds.",
			prometheus.ExponentialBuckets(0.001, 2, 13), telemetry.By("operation", grpcapi.Operations()...)),
	}
}

func (m *metrics) Saved(ins, upd int) {
	m.saved.WithLabelValues(inserted).Add(float64(ins))
	m.saved.WithLabelValues(updated).Add(float64(upd))
}

func (m *metrics) Deleted(n int) { m.saved.WithLabelValues(deleted).Add(float64(n)) }

func (m *metrics) Took(operation string, d time.Duration) {
	m.seconds.WithLabelValues(operation).Observe(d.Seconds())
}
