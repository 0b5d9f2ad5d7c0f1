package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics implements configure.Observer. Every series exists from the start.
type metrics struct {
	saved *prometheus.CounterVec
}

const (
	inserted = "inserted"
	updated  = "updated"
	deleted  = "deleted"
)

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{saved: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cellcounter_mappings_saved_total", Help: "Mappings that were written, by what happened to them.",
	}, []string{"change"})}
	if err := registry.Register(m.saved); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	m.Saved(0, 0)
	m.Deleted(0)
	return m, nil
}

// Saved implements configure.Observer.
func (m *metrics) Saved(ins, upd int) {
	m.saved.WithLabelValues(inserted).Add(float64(ins))
	m.saved.WithLabelValues(updated).Add(float64(upd))
}

// Deleted implements configure.Observer.
func (m *metrics) Deleted(n int) { m.saved.WithLabelValues(deleted).Add(float64(n)) }
