package limit

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts decisions and shows the mode. Every series exists from the start.
type Metrics struct {
	modes     *prometheus.GaugeVec
	unread    *prometheus.CounterVec
	decisions *prometheus.CounterVec
	failovers prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		modes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "search_rate_limit_mode", Help: "1 for the present mode, 0 for the others."}, []string{"mode"}),
		unread: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "search_rate_limit_mode_unread_total", Help: "Readings of the mode that failed."}, []string{"cause"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "search_rate_limit_decisions_total",
			Help: "Searches that were admitted or refused.",
		}, []string{"mode", "decision"}),
		failovers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "search_rate_limit_failovers_total",
			Help: "Times that the cache did not count and the memory of the process did for a while.",
		}),
	}
	for _, c := range []prometheus.Collector{m.modes, m.unread, m.decisions, m.failovers} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, mode := range Modes() {
		m.modes.WithLabelValues(string(mode))
		m.decisions.WithLabelValues(string(mode), admitted)
		m.decisions.WithLabelValues(string(mode), limited)
	}
	for _, cause := range []string{"unreachable", "unknown_value"} {
		m.unread.WithLabelValues(cause)
	}
	return m, nil
}

const (
	admitted = "admitted"
	limited  = "refused"
)

func (m *Metrics) mode(present Mode) {
	for _, mode := range Modes() {
		value := 0.0
		if mode == present {
			value = 1
		}
		m.modes.WithLabelValues(string(mode)).Set(value)
	}
}

func (m *Metrics) missed(cause string) { m.unread.WithLabelValues(cause).Inc() }

func (m *Metrics) decided(mode Mode, allowed bool) {
	decision := limited
	if allowed {
		decision = admitted
	}
	m.decisions.WithLabelValues(string(mode), decision).Inc()
}
