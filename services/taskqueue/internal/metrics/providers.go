package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Providers holds the metrics of providers. Its labels are names from the configuration.
type Providers struct {
	attempts *prometheus.CounterVec
	paused   *prometheus.GaugeVec
	out      *prometheus.GaugeVec
}

// NewProviders registers the metrics of providers. The series of a provider exist once it is configured.
func NewProviders(registry prometheus.Registerer) *Providers {
	m := telemetry.NewMetrics(registry)
	channel, provider := telemetry.By[string]("channel"), telemetry.By[string]("provider")
	return &Providers{
		attempts: m.Counters("taskqueue_provider_attempts_total", "Messages given to a provider, by outcome.",
			channel, provider, telemetry.By[string]("outcome")),
		paused: m.Gauges("taskqueue_provider_paused", "1 while the circuit breaker of a provider is open, else 0.",
			channel, provider),
		out: m.Gauges("taskqueue_provider_out", "1 while a row of tq_provider is wrong or lacks its secret, else 0.",
			channel, provider),
	}
}

// Configured creates the series of a provider.
func (p *Providers) Configured(c job.Channel, provider string) {
	for _, outcome := range route.Outcomes() {
		p.attempts.WithLabelValues(c.String(), provider, outcome)
	}
	p.Paused(c, provider, false)
	p.Out(c.String(), provider, false)
}

// Attempt counts one attempt at a provider.
func (p *Providers) Attempt(c job.Channel, provider, outcome string) {
	p.attempts.WithLabelValues(c.String(), provider, outcome).Inc()
}

// Paused sets whether the provider's circuit breaker is open.
func (p *Providers) Paused(c job.Channel, provider string, paused bool) {
	p.paused.WithLabelValues(c.String(), provider).Set(telemetry.Bool(paused))
}

// Out sets whether a row of the provider is invalid.
func (p *Providers) Out(channel, provider string, out bool) {
	p.out.WithLabelValues(channel, provider).Set(telemetry.Bool(out))
}
