package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// counters implements the Counters of the use cases. Every series exists from the start.
type counters struct {
	requested *prometheus.CounterVec
	evaluated *prometheus.CounterVec
	failed    *prometheus.CounterVec
	received  *prometheus.CounterVec
	values    *prometheus.CounterVec
	fulfilled prometheus.Counter
	closed    *prometheus.CounterVec
	swept     *prometheus.CounterVec
}

func newCounters(registry prometheus.Registerer) (*counters, error) {
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	c := &counters{
		requested: vec("rerun_requested_total", "Sample reruns that were saved.", "type"),
		evaluated: vec("rerun_auto_evaluated_total", "Evaluations of instrument values for an automatic rerun.", "outcome"),
		failed: vec("rerun_failed_total", "Steps that failed: save (the request was refused with 500).",
			"step"),
		received: vec("rerun_messages_received_total", "Messages of instruments that were taken, repeated ones included.",
			"trigger"),
		values: vec("rerun_values_stored_total", "Values of instruments that were added or replaced.", "trigger"),
		fulfilled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rerun_fulfilled_total", Help: "Requests whose last value arrived."}),
		closed: vec("rerun_closed_total", "Sample reruns that were confirmed or aborted.", "how"),
		swept:  vec("rerun_swept_total", "Repairs of the sweeper, and reports that it will try again.", "outcome"),
	}
	for _, v := range []prometheus.Collector{c.requested, c.evaluated, c.failed, c.received, c.values, c.fulfilled,
		c.closed, c.swept} {
		if err := registry.Register(v); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	c.start()
	return c, nil
}

// start makes every series exist.
func (c *counters) start() {
	for _, t := range []rerun.Type{rerun.Manual, rerun.Auto} {
		c.requested.WithLabelValues(string(t))
	}
	for _, outcome := range []string{outcomeQueued, outcomeNot} {
		c.evaluated.WithLabelValues(outcome)
	}
	for _, step := range []string{"save"} {
		c.failed.WithLabelValues(step)
	}
	for _, trigger := range []string{byRequest, byInstrument} {
		c.received.WithLabelValues(trigger)
		c.values.WithLabelValues(trigger)
	}
	for _, how := range []string{confirmed, aborted} {
		c.closed.WithLabelValues(how)
	}
	for _, outcome := range sweep.Outcomes() {
		c.swept.WithLabelValues(outcome)
	}
}

const (
	outcomeQueued = "queued"
	outcomeNot    = "not_qualified"
	byRequest     = "manual"
	byInstrument  = "instrument"
	confirmed     = "confirmed"
	aborted       = "aborted"
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

func (c *counters) Received(onItsOwn bool, values int) {
	trigger := byRequest
	if onItsOwn {
		trigger = byInstrument
	}
	c.received.WithLabelValues(trigger).Inc()
	c.values.WithLabelValues(trigger).Add(float64(values))
}

func (c *counters) Fulfilled() { c.fulfilled.Inc() }

func (c *counters) Closed(byConfirm bool) {
	how := aborted
	if byConfirm {
		how = confirmed
	}
	c.closed.WithLabelValues(how).Inc()
}

func (c *counters) Swept(outcome string, n int) { c.swept.WithLabelValues(outcome).Add(float64(n)) }
