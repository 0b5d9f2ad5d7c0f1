package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// counters implements the Counters of the use cases. Every series exists from the start.
type counters struct {
	requested *prometheus.CounterVec
	evaluated *prometheus.CounterVec
	failed    *prometheus.CounterVec
}

func newCounters(registry prometheus.Registerer) (*counters, error) {
	c := &counters{
		requested: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rerun_requested_total", Help: "Sample reruns that were saved."}, []string{"type"}),
		evaluated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rerun_auto_evaluated_total", Help: "Evaluations of instrument values for an automatic rerun."}, []string{"outcome"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rerun_failed_total", Help: "Steps that failed: save (the request was refused with 500), cache and index (repaired later)."}, []string{"step"}),
	}
	for _, v := range []prometheus.Collector{c.requested, c.evaluated, c.failed} {
		if err := registry.Register(v); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, t := range []rerun.Type{rerun.Manual, rerun.Auto} {
		c.requested.WithLabelValues(string(t))
	}
	for _, outcome := range []string{outcomeQueued, outcomeNot} {
		c.evaluated.WithLabelValues(outcome)
	}
	for _, step := range []string{"save", "cache", "index"} {
		c.failed.WithLabelValues(step)
	}
	return c, nil
}

const (
	outcomeQueued = "queued"
	outcomeNot    = "not_qualified"
)

func (c *counters) Requested(t rerun.Type) { c.requested.WithLabelValues(string(t)).Inc() }

func (c *counters) Failed(step string) { c.failed.WithLabelValues(step).Inc() }

func (c *counters) Evaluated(queued bool) {
	if queued {
		c.evaluated.WithLabelValues(outcomeQueued).Inc()
		return
	}
	c.evaluated.WithLabelValues(outcomeNot).Inc()
}
