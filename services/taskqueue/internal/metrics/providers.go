package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Providers implements route.Observer. Its labels are names of the configuration.
type Providers struct {
	attempts *prometheus.CounterVec
	paused   *prometheus.GaugeVec
}

// NewProviders registers the metrics of the providers, whose series exist once they are configured.
func NewProviders(registry prometheus.Registerer) *Providers {
	r := register{promauto.With(registry)}
	names := labels{names: []string{"channel", "provider"}}
	return &Providers{
		attempts: r.counters("taskqueue_provider_attempts_total", "Messages given to a provider, by outcome.",
			labels{names: append(names.names, "outcome")}),
		paused: r.gauges("taskqueue_provider_paused", "1 while a provider that keeps failing is left alone.", names),
	}
}

// Configured makes the series of a provider exist.
func (p *Providers) Configured(c job.Channel, provider string) {
	for _, outcome := range route.Outcomes() {
		p.attempts.WithLabelValues(c.String(), provider, outcome)
	}
	p.Paused(c, provider, false)
}

// Attempt counts one.
func (p *Providers) Attempt(c job.Channel, provider, outcome string) {
	p.attempts.WithLabelValues(c.String(), provider, outcome).Inc()
}

// Paused reports whether the circuit breaker is open.
func (p *Providers) Paused(c job.Channel, provider string, paused bool) {
	p.paused.WithLabelValues(c.String(), provider).Set(number(paused))
}
