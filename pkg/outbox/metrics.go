package outbox

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// observeEvery is how often the backlog is counted.
const observeEvery = 5 * time.Second

// Metrics tells how a relay does, by kind. Every replica shows the same backlog: aggregate with max.
type Metrics struct {
	delivered, failed, undeliverable *prometheus.CounterVec
	waiting, parked, age, away       *prometheus.GaugeVec

	kinds map[string]bool // that have series; used by the relay's start and then by its observer alone
}

// NewMetrics registers the metrics of one service's outbox.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"kind"})
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"kind"})
	}
	m := &Metrics{
		kinds:         map[string]bool{},
		delivered:     counter("outbox_delivered_total", "Messages that their receiver took."),
		failed:        counter("outbox_failed_total", "Tries that failed and are repeated; not those of an absent receiver."),
		undeliverable: counter("outbox_undeliverable_total", "Messages that were parked: another try cannot succeed."),
		waiting:       gauge("outbox_waiting_rows", "Messages that wait for delivery; 10001 stands for more than 10,000."),
		parked:        gauge("outbox_parked_rows", "Messages that an operator has to look at; 10001 stands for more than 10,000."),
		age:           gauge("outbox_oldest_seconds", "Age of the oldest message that waits for delivery."),
		away:          gauge("outbox_receiver_away", "1 while the receiver is not there and its messages wait."),
	}
	for _, c := range []prometheus.Collector{m.delivered, m.failed, m.undeliverable, m.waiting, m.parked, m.age, m.away} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register outbox metrics: %w", err)
		}
	}
	return m, nil
}

// start makes every series of a kind exist.
func (m *Metrics) start(kind string) {
	m.kinds[kind] = true
	for _, c := range []*prometheus.CounterVec{m.delivered, m.failed, m.undeliverable} {
		c.WithLabelValues(kind)
	}
	for _, g := range []*prometheus.GaugeVec{m.waiting, m.parked, m.age, m.away} {
		g.WithLabelValues(kind)
	}
}

// show sets the gauges of the backlog. A kind that has no rows any more is at 0.
func (m *Metrics) show(all []backlog, now time.Time) {
	present := map[string]backlog{}
	for _, b := range all {
		m.kinds[b.kind] = true
		present[b.kind] = b
	}
	for kind := range m.kinds {
		b := present[kind]
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
