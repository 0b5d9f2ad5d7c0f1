package outbox

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

// observeEvery is the interval at which the backlog is counted.
const observeEvery = 5 * time.Second

// Metrics shows the state of a relay by kind. All replicas show the same backlog; aggregate it with max.
type Metrics struct {
	delivered, failed, undeliverable  *prometheus.CounterVec
	waiting, parked, age, unavailable *prometheus.GaugeVec

	kinds map[string]bool // kinds with series; used by the relay's start, and then by its observer only
}

// NewMetrics registers the metrics of one service's outbox.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m, kind := telemetry.NewMetrics(registry), telemetry.By[string]("kind")
	return &Metrics{
		kinds:     map[string]bool{},
		delivered: m.Counters("outbox_delivered_total", "Messages delivered.", kind),
		failed: m.Counters("outbox_failed_total",
			"Failed deliveries that are retried, without those to an unavailable receiver.", kind),
		undeliverable: m.Counters("outbox_undeliverable_total",
			"Messages parked because no retry can succeed.", kind),
		waiting: m.Gauges("outbox_waiting_rows", "Messages waiting for delivery; 10001 stands for more than 10,000.", kind),
		parked: m.Gauges("outbox_parked_rows",
			"Parked messages, which an operator must release or delete; 10001 stands for more than 10,000.", kind),
		age:         m.Gauges("outbox_oldest_seconds", "Age of the oldest message waiting for delivery.", kind),
		unavailable: m.Gauges("outbox_receiver_away", "1 while the receiver is unavailable and its messages wait.", kind),
	}
}

// start creates all series of a kind.
func (m *Metrics) start(kind string) {
	m.kinds[kind] = true
	for _, c := range []*prometheus.CounterVec{m.delivered, m.failed, m.undeliverable} {
		c.WithLabelValues(kind)
	}
	for _, g := range []*prometheus.GaugeVec{m.waiting, m.parked, m.age, m.unavailable} {
		g.WithLabelValues(kind)
	}
}

// show sets the gauges of the backlog. Kinds without rows are set to 0.
func (m *Metrics) show(all []backlog, now time.Time) {
	counted := map[string]backlog{}
	for _, b := range all {
		m.kinds[b.kind] = true
		counted[b.kind] = b
	}
	for kind := range m.kinds {
		b := counted[kind]
		m.waiting.WithLabelValues(kind).Set(float64(b.waiting))
		m.parked.WithLabelValues(kind).Set(float64(b.parked))
		m.age.WithLabelValues(kind).Set(b.age(now).Seconds())
	}
}

func (b backlog) age(now time.Time) time.Duration {
	if b.oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(b.oldest))
}
