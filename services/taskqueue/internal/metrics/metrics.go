// Package metrics defines the Prometheus metrics of the task queue. Every series exists from the start with value zero,
// those of providers once they are configured. Labels never contain laboratories, users or recipients.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
)

// Metrics holds the service's metrics; its methods observe the queue.
type Metrics struct {
	enqueued, claimed, attempts, refused, lost, reaped, archived, violated *prometheus.CounterVec
	callbacks, dropped, checked                                            prometheus.Counter
	ready, scheduled, depth, age, running, held, channelHeld               *prometheus.GaugeVec
	dead, backlog, endsLimit, memory, paused, database, skew               prometheus.Gauge
	runTime, wait                                                          *prometheus.HistogramVec
	claimTime                                                              prometheus.Histogram
}

func outcomes() []string {
	return []string{"succeeded", "retry", "failed", "cancelled", "unknown", "released", "postponed", "dropped", "corrupt"}
}

// New registers the service's metrics and returns them.
func New(registry prometheus.Registerer) *Metrics {
	m := telemetry.NewMetrics(registry)
	channel := telemetry.By("channel", job.Channels()...)
	priority := telemetry.By("priority", job.High, job.Moderate, job.Low)
	return &Metrics{
		enqueued:  m.Counters("taskqueue_enqueued_total", "Jobs accepted.", channel, priority),
		claimed:   m.Counters("taskqueue_claimed_total", "Jobs claimed by this process.", channel),
		claimTime: m.Histogram("taskqueue_claim_seconds", "Duration of a claim that found jobs in seconds.", runs()),
		attempts: m.Counters("taskqueue_attempts_total", "Settled attempts, by outcome.",
			channel, telemetry.By("outcome", outcomes()...)),
		runTime: m.Histograms("taskqueue_attempt_seconds", "Duration of an attempt in seconds.", runs(), channel),
		wait:    m.Histograms("taskqueue_wait_seconds", "Seconds from a job's due time to its first attempt.", waits(), channel, priority),
		refused: m.Counters("taskqueue_refused_total", "Requests whose tasks were not accepted.",
			telemetry.By("reason", submit.Refusals()...)),
		ready:     m.Gauges("taskqueue_ready_jobs", "Jobs in a lane that are due.", channel, priority),
		scheduled: m.Gauges("taskqueue_scheduled_jobs", "Jobs in a lane that are not due yet.", channel, priority),
		dead:      m.Gauge("taskqueue_dead_jobs", "Dead letters: failed and unknown jobs kept for a retry."),
		backlog:   m.Gauge("taskqueue_archive_backlog_jobs", "Finished jobs that wait for the archive."),
		endsLimit: m.Gauge("taskqueue_archive_limit_jobs",
			"Archive backlog at which ordinary jobs are no longer claimed; 0 when there is no archive."),
		held: m.Gauges("taskqueue_pauses", "Pauses set by operators, by kind of target.",
			telemetry.By("kind", pauseKinds()...)),
		channelHeld: m.Gauges("taskqueue_channel_paused", "1 while operators have the channel paused.", channel),
		memory: m.Gauge("taskqueue_redis_memory_ratio",
			"Share of its maxmemory that the fullest Redis uses; 0 when it has no maxmemory."),
		paused:    m.Gauge("taskqueue_receivers_paused", "Receiver paths currently paused by the circuit breaker."),
		lost:      m.Counters("taskqueue_leases_lost_total", "Outcomes reported after their lease was lost.", channel),
		callbacks: m.Counter("taskqueue_callbacks_total", "Callback jobs created."),
		dropped: m.Counter("taskqueue_callbacks_dropped_total",
			"Callback jobs not created because too many of their laboratory wait."),
		reaped: m.Counters("taskqueue_reaped_total", "Expired leases, by decision.", channel, telemetry.By("decision",
			job.ExpireRequeue, job.ExpirePoison, job.ExpireHold, job.ExpireCancel, job.ExpireDrop)),
		depth:   m.Gauges("taskqueue_lane_jobs", "Jobs waiting in a lane, scheduled ones included.", channel, priority),
		age:     m.Gauges("taskqueue_lane_age_seconds", "Age of the oldest job that is ready to run, in seconds.", channel, priority),
		running: m.Gauges("taskqueue_running_jobs", "Jobs under a lease.", channel),
		archived: m.Counters("taskqueue_archived_total", "Finished jobs, by the outcome of their archiving.",
			telemetry.By("outcome", janitor.Outcomes()...)),
		database: m.Gauge("taskqueue_database_up",
			"1 while the database of archive, consents and mappings answers or is switched off."),
		skew: m.Gauge("taskqueue_clock_skew_seconds",
			"How far Redis's clock is ahead of this process's, in seconds; negative when it is behind."),
		checked: m.Counter("taskqueue_audit_checked_total", "Jobs checked by the auditor."),
		violated: m.Counters("taskqueue_audit_violations_total", "Broken invariants found by the auditor, by rule.",
			telemetry.By("rule", audit.Rules()...)),
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

// Refused counts a refused request.
func (m *Metrics) Refused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// Waited observes how long a job waited for its first attempt.
func (m *Metrics) Waited(l job.Lane, d time.Duration) {
	m.wait.WithLabelValues(l.Channel.String(), l.Priority.String()).Observe(d.Seconds())
}

// Claimed records one claim: the number of its jobs and its duration.
func (m *Metrics) Claimed(c job.Channel, jobs int, took time.Duration) {
	m.claimed.WithLabelValues(c.String()).Add(float64(jobs))
	m.claimTime.Observe(took.Seconds())
}

// Attempt counts one settled attempt.
func (m *Metrics) Attempt(c job.Channel, outcome string, took time.Duration) {
	m.attempts.WithLabelValues(c.String(), outcome).Inc()
	m.runTime.WithLabelValues(c.String()).Observe(took.Seconds())
}

// LeaseLost counts an outcome that arrived after its lease had ended.
func (m *Metrics) LeaseLost(c job.Channel) { m.lost.WithLabelValues(c.String()).Inc() }

// Callbacks counts callback jobs that were created or dropped.
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

// Archived counts ended jobs by the outcome of archiving them.
func (m *Metrics) Archived(outcome string, jobs int) {
	m.archived.WithLabelValues(outcome).Add(float64(jobs))
}

// DatabaseUp sets the gauge of the database's availability.
func (m *Metrics) DatabaseUp(up bool) {
	m.database.Set(telemetry.Bool(up))
}

// Skew sets the gauge of the clock difference.
func (m *Metrics) Skew(ahead time.Duration) { m.skew.Set(ahead.Seconds()) }

// Audited counts the ids checked and the violations found in one round of the auditor.
func (m *Metrics) Audited(checked int, found []audit.Violation) {
	m.checked.Add(float64(checked))
	for _, v := range found {
		m.violated.WithLabelValues(string(v.Rule)).Inc()
	}
}
