package app

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/grpcapi"
)

// metrics implements configure.Observer and grpcapi.Observer. Every series exists from the start.
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

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{saved: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cellcounter_mappings_saved_total", Help: "Mappings that were written, by what happened to them.",
	}, []string{"change"})}
	m.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "cellcounter_operation_seconds", Help: "How long an operation took.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 13),
	}, []string{"operation"})
	for _, c := range []prometheus.Collector{m.saved, m.seconds} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, operation := range grpcapi.Operations() {
		m.seconds.WithLabelValues(operation)
	}
	m.Saved(0, 0)
	m.Deleted(0)
	return m, nil
}

func (m *metrics) Saved(ins, upd int) {
	m.saved.WithLabelValues(inserted).Add(float64(ins))
	m.saved.WithLabelValues(updated).Add(float64(upd))
}

func (m *metrics) Deleted(n int) { m.saved.WithLabelValues(deleted).Add(float64(n)) }

func (m *metrics) Took(operation string, d time.Duration) {
	m.seconds.WithLabelValues(operation).Observe(d.Seconds())
}
