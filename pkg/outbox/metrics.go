package outbox

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// observeEvery is how often the backlog is counted.
const observeEvery = 5 * time.Second

// Metrics tells how a relay does. Every replica shows the same backlog: aggregate with max.
type Metrics struct {
	delivered, failed, undeliverable prometheus.Counter
	waiting, parked, age             prometheus.Gauge
	observedAt                       time.Time // used by the one loop alone
}

// NewMetrics registers the metrics of one service's outbox.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &Metrics{
		delivered:     counter("outbox_delivered_total", "Messages that their receiver took."),
		failed:        counter("outbox_failed_total", "Tries that failed and are repeated."),
		undeliverable: counter("outbox_undeliverable_total", "Messages that were parked because another try cannot succeed."),
		waiting:       gauge("outbox_waiting_rows", "Messages that wait for delivery."),
		parked:        gauge("outbox_parked_rows", "Messages that an operator has to look at."),
		age:           gauge("outbox_oldest_seconds", "Age of the oldest message that waits for delivery."),
	}
	for _, c := range []prometheus.Collector{m.delivered, m.failed, m.undeliverable, m.waiting, m.parked, m.age} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register outbox metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) stale(now time.Time) bool { return now.Sub(m.observedAt) >= observeEvery }

func (m *Metrics) show(b backlog, now time.Time) {
	m.observedAt = now
	m.waiting.Set(float64(b.waiting))
	m.parked.Set(float64(b.parked))
	m.age.Set(0)
	if !b.oldest.IsZero() {
		m.age.Set(max(0, now.Sub(b.oldest).Seconds()))
	}
}
