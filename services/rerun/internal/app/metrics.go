package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// counters holds the Prometheus metrics that the use cases and loops update.
type counters struct {
	requested, evaluated, failed, received, values, closed, swept *prometheus.CounterVec
	fulfilled                                                     prometheus.Counter
}

func newCounters(registry prometheus.Registerer) *counters {
	m := telemetry.NewMetrics(registry)
	trigger := telemetry.By("trigger", byRequest, byInstrument)
	return &counters{
		requested: m.Counters("rerun_requested_total", "Sample reruns saved, by type.",
			telemetry.By("type", rerun.Manual, rerun.Auto)),
		evaluated: m.Counters("rerun_auto_evaluated_total",
			"Evaluations of instrument values for an automatic rerun, by outcome.",
			telemetry.By("outcome", outcomeQueued, outcomeNot)),
		failed: m.Counters("rerun_failed_total", "Failed steps; save: the request was answered with 500.",
			telemetry.By("step", "save")),
		received: m.Counters("rerun_messages_received_total", "Messages of instruments accepted, repeated ones included.",
			trigger),
		values:    m.Counters("rerun_values_stored_total", "Values of instruments added or replaced.", trigger),
		fulfilled: m.Counter("rerun_fulfilled_total", "Requests whose last value arrived."),
		closed: m.Counters("rerun_closed_total", "Sample reruns confirmed or aborted.",
			telemetry.By("how", confirmed, aborted)),
		swept: m.Counters("rerun_swept_total", "Repairs of the sweeper, failed ones included, by outcome.",
			telemetry.By("outcome", sweep.Outcomes()...)),
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
