// Package metrics owns the Prometheus metrics of the task queue. Every series exists at zero from the start;
// labels never carry laboratories, users or recipients.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Metrics implements the observers of the service.
type Metrics struct {
	enqueued, claimed, attempts, refused, lost, reaped, archived, violated *prometheus.CounterVec
	callbacks, dropped, checked                                            prometheus.Counter
	ready, scheduled, depth, age, running, held, channelHeld               *prometheus.GaugeVec
	dead, backlog, endsLimit, memory, paused, database                     prometheus.Gauge
	runTime, wait                                                          *prometheus.HistogramVec
	claimTime                                                              prometheus.Histogram
}

func outcomes() []string {
	return []string{"succeeded", "retry", "failed", "cancelled", "unknown", "released", "postponed", "dropped", "corrupt"}
}

// New registers the metrics.
func New(registry prometheus.Registerer) *Metrics {
	r := register{promauto.With(registry)}
	channel := label("channel", job.Channels()...)
	lane := channel.by(label("priority", job.High, job.Moderate, job.Low))
	return &Metrics{
		enqueued: r.counters("taskqueue_enqueued_total", "Jobs accepted.", lane),
		claimed:  r.counters("taskqueue_claimed_total", "Jobs claimed by this process.", channel),
		claimTime: r.NewHistogram(prometheus.HistogramOpts{Name: "taskqueue_claim_seconds",
			Help: "Time of a claim that found jobs.", Buckets: runs()}),
		attempts: r.counters("taskqueue_attempts_total", "Settled attempts by outcome.",
			channel.by(label("outcome", outcomes()...))),
		runTime: r.histograms("taskqueue_attempt_seconds", "Time of one attempt.", runs(), channel),
		wait:    r.histograms("taskqueue_wait_seconds", "Time from when a job was due to its first attempt.", waits(), lane),
		refused: r.counters("taskqueue_refused_total", "Requests whose tasks were not accepted.",
			label("reason", api.Refusals()...)),
		ready:       r.gauges("taskqueue_ready_jobs", "Jobs in a lane that are due.", lane),
		scheduled:   r.gauges("taskqueue_scheduled_jobs", "Jobs in a lane that are not due yet.", lane),
		dead:        r.gauge("taskqueue_dead_jobs", "Failed and unknown jobs kept for retryTask and for operators."),
		backlog:     r.gauge("taskqueue_archive_backlog_jobs", "Ended jobs that wait for the archive."),
		endsLimit:   r.gauge("taskqueue_archive_limit_jobs", "So many of them, and ordinary jobs are not claimed; 0: there is no archive."),
		held:        r.gauges("taskqueue_pauses", "What operators have paused.", label("kind", pauseKinds()...)),
		channelHeld: r.gauges("taskqueue_channel_paused", "1 while operators have the channel paused.", channel),
		memory:      r.gauge("taskqueue_redis_memory_ratio", "How much of its maxmemory the fullest Redis uses; 0: it has none."),
		paused:      r.gauge("taskqueue_receivers_paused", "Kinds of paths at receivers that all processes leave alone for a while."),
		lost:        r.counters("taskqueue_leases_lost_total", "Outcomes that came after the lease was lost.", channel),
		callbacks:   r.counter("taskqueue_callbacks_total", "Callback jobs born."),
		dropped: r.counter("taskqueue_callbacks_dropped_total",
			"Callback jobs not born because too many of their laboratory wait for their receivers."),
		reaped: r.counters("taskqueue_reaped_total", "Expired leases by decision.", channel.by(label("decision",
			job.ExpireRequeue, job.ExpirePoison, job.ExpireHold, job.ExpireCancel, job.ExpireDrop))),
		depth:   r.gauges("taskqueue_lane_jobs", "Jobs waiting in a lane, scheduled ones included.", lane),
		age:     r.gauges("taskqueue_lane_age_seconds", "Age of the oldest job that is ready to run.", lane),
		running: r.gauges("taskqueue_running_jobs", "Jobs under a lease.", channel),
		archived: r.counters("taskqueue_archived_total", "Ended jobs by the outcome of them on the way to the archive.",
			label("outcome", janitor.Outcomes()...)),
		database: r.gauge("taskqueue_database_up", "1 while the database of archive, consents and mappings answers."),
		checked:  r.counter("taskqueue_audit_checked_total", "Jobs that the auditor looked at."),
		violated: r.counters("taskqueue_audit_violations_total", "Broken invariants that the auditor found.",
			label("rule", audit.Rules()...)),
	}
}

func runs() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 30, 120}
}

func waits() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}
}

// Enqueued counts an accepted job.
func (m *Metrics) Enqueued(l job.Lane) {
	m.enqueued.WithLabelValues(l.Channel.String(), l.Priority.String()).Inc()
}

// Refused counts a request whose tasks were not accepted.
func (m *Metrics) Refused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// Waited notes how long a job waited for its first attempt.
func (m *Metrics) Waited(l job.Lane, d time.Duration) {
	m.wait.WithLabelValues(l.Channel.String(), l.Priority.String()).Observe(d.Seconds())
}

// Claimed counts one claim.
func (m *Metrics) Claimed(c job.Channel, jobs int, took time.Duration) {
	m.claimed.WithLabelValues(c.String()).Add(float64(jobs))
	m.claimTime.Observe(took.Seconds())
}

// Attempt counts one settled attempt.
func (m *Metrics) Attempt(c job.Channel, outcome string, took time.Duration) {
	m.attempts.WithLabelValues(c.String(), outcome).Inc()
	m.runTime.WithLabelValues(c.String()).Observe(took.Seconds())
}

// LeaseLost counts an outcome that came too late.
func (m *Metrics) LeaseLost(c job.Channel) { m.lost.WithLabelValues(c.String()).Inc() }

// Callbacks counts callback jobs that were born or dropped.
func (m *Metrics) Callbacks(n int, dropped bool) {
	if dropped {
		m.dropped.Add(float64(n))
		return
	}
	m.callbacks.Add(float64(n))
}

// Reaped counts a decision about an expired lease.
func (m *Metrics) Reaped(c job.Channel, decision string) {
	m.reaped.WithLabelValues(c.String(), decision).Inc()
}

// Archived counts ends on their way to the archive.
func (m *Metrics) Archived(outcome string, jobs int) {
	m.archived.WithLabelValues(outcome).Add(float64(jobs))
}

// DatabaseUp sets the gauge of the database.
func (m *Metrics) DatabaseUp(up bool) {
	m.database.Set(number(up))
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Audited counts what one round of the auditor looked at and found.
func (m *Metrics) Audited(checked int, found []audit.Violation) {
	m.checked.Add(float64(checked))
	for _, v := range found {
		m.violated.WithLabelValues(string(v.Rule)).Inc()
	}
}
