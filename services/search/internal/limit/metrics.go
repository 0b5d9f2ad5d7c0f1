package limit

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Metrics counts the limit's decisions and shows its mode.
type Metrics struct {
	modes             *prometheus.GaugeVec
	unread, decisions *prometheus.CounterVec
	failovers         prometheus.Counter
}

// NewMetrics registers the metrics of the limit.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m, mode := telemetry.NewMetrics(registry), telemetry.By("mode", Modes()...)
	return &Metrics{
		modes: m.Gauges("search_rate_limit_mode", "1 for the present mode, 0 for the others.", mode),
		unread: m.Counters("search_rate_limit_mode_unread_total", "Failed reads of the mode, by cause.",
			telemetry.By("cause", "unreachable", "unknown_value")),
		decisions: m.Counters("search_rate_limit_decisions_total", "Searches admitted or refused, by mode.", mode,
			telemetry.By("decision", admitted, limited)),
		failovers: m.Counter("search_rate_limit_failovers_total",
			"Failovers of the count from the cache to the memory of the process."),
	}
}

const (
	admitted = "admitted"
	limited  = "refused"
)

func (m *Metrics) mode(present Mode) {
	for _, mode := range Modes() {
		m.modes.WithLabelValues(string(mode)).Set(telemetry.Bool(mode == present))
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
