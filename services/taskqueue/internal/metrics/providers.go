package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Providers implements route.Observer. Its labels are names of the configuration.
type Providers struct {
	attempts *prometheus.CounterVec
	paused   *prometheus.GaugeVec
}

// NewProviders registers the metrics of the providers.
func NewProviders(registry prometheus.Registerer) (*Providers, error) {
	p := &Providers{
		attempts: counters("taskqueue_provider_attempts_total", "Messages given to a provider, by outcome.", "channel",
			"provider", "outcome"),
		paused: gauges("taskqueue_provider_paused", "1 while a provider that keeps failing is left alone.", "channel",
			"provider"),
	}
	for _, c := range []prometheus.Collector{p.attempts, p.paused} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return p, nil
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

// Paused tells whether the circuit breaker is open.
func (p *Providers) Paused(c job.Channel, provider string, paused bool) {
	value := 0.0
	if paused {
		value = 1
	}
	p.paused.WithLabelValues(c.String(), provider).Set(value)
}
