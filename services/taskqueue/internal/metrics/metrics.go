// Package metrics owns the Prometheus metrics of the task queue. Every series exists at zero from the start;
// labels never carry laboratories, users or recipients.
package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
)

// Metrics implements the observers of the service.
type Metrics struct {
	enqueued  *prometheus.CounterVec
	claimed   *prometheus.CounterVec
	claimTime prometheus.Histogram
	attempts  *prometheus.CounterVec
	runTime   *prometheus.HistogramVec
	wait      *prometheus.HistogramVec
	refused   *prometheus.CounterVec
	ready     *prometheus.GaugeVec
	scheduled *prometheus.GaugeVec
	dead      prometheus.Gauge
	backlog   prometheus.Gauge
	endsLimit prometheus.Gauge
	held      *prometheus.GaugeVec
	// channelHeld is 1 while operators have a channel paused.
	channelHeld *prometheus.GaugeVec
	memory      prometheus.Gauge
	paused      prometheus.Gauge
	lost        *prometheus.CounterVec
	callbacks   prometheus.Counter
	dropped     prometheus.Counter
	reaped      *prometheus.CounterVec
	depth       *prometheus.GaugeVec
	age         *prometheus.GaugeVec
	running     *prometheus.GaugeVec
	archived    *prometheus.CounterVec
	database    prometheus.Gauge
	checked     prometheus.Counter
	violated    *prometheus.CounterVec
}

func outcomes() []string {
	return []string{"succeeded", "retry", "failed", "cancelled", "unknown", "released", "postponed", "dropped", "corrupt"}
}

// New registers the metrics.
func New(registry prometheus.Registerer) (*Metrics, error) {
	lane := []string{"channel", "priority"}
	m := &Metrics{
		enqueued: counters("taskqueue_enqueued_total", "Jobs accepted.", lane...),
		claimed:  counters("taskqueue_claimed_total", "Jobs claimed by this process.", "channel"),
		claimTime: prometheus.NewHistogram(
			prometheus.HistogramOpts{
				Name:    "taskqueue_claim_seconds",
				Help:    "Time of a claim that found jobs.",
				Buckets: buckets(),
			},
		),
		attempts: counters("taskqueue_attempts_total", "Settled attempts by outcome.", "channel", "outcome"),
		runTime: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "taskqueue_attempt_seconds", Help: "Time of one attempt.", Buckets: buckets()},
			[]string{"channel"},
		),
		wait: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{
				Name:    "taskqueue_wait_seconds",
				Help:    "Time from when a job was due to its first attempt.",
				Buckets: waits(),
			},
			lane,
		),
		refused:     counters("taskqueue_refused_total", "Requests whose tasks were not accepted.", "reason"),
		ready:       gauges("taskqueue_ready_jobs", "Jobs in a lane that are due.", lane...),
		scheduled:   gauges("taskqueue_scheduled_jobs", "Jobs in a lane that are not due yet.", lane...),
		dead:        gauge("taskqueue_dead_jobs", "Failed and unknown jobs kept for retryTask and for operators."),
		backlog:     gauge("taskqueue_archive_backlog_jobs", "Ended jobs that wait for the archive."),
		endsLimit:   gauge("taskqueue_archive_limit_jobs", "So many of them, and ordinary jobs are not claimed; 0: there is no archive."),
		held:        gauges("taskqueue_pauses", "What operators have paused.", "kind"),
		channelHeld: gauges("taskqueue_channel_paused", "1 while operators have the channel paused.", "channel"),
		memory:      gauge("taskqueue_redis_memory_ratio", "How much of its maxmemory the fullest Redis uses; 0: it has none."),
		paused:      gauge("taskqueue_receivers_paused", "Kinds of paths at receivers that all processes leave alone for a while."),
		lost:        counters("taskqueue_leases_lost_total", "Outcomes that came after the lease was lost.", "channel"),
		callbacks: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "taskqueue_callbacks_total", Help: "Callback jobs born."},
		),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "taskqueue_callbacks_dropped_total",
			Help: "Callback jobs not born because too many of their laboratory wait for their receivers."}),
		reaped:  counters("taskqueue_reaped_total", "Expired leases by decision.", "channel", "decision"),
		depth:   gauges("taskqueue_lane_jobs", "Jobs waiting in a lane, scheduled ones included.", lane...),
		age:     gauges("taskqueue_lane_age_seconds", "Age of the oldest job that is ready to run.", lane...),
		running: gauges("taskqueue_running_jobs", "Jobs under a lease.", "channel"),
		archived: counters("taskqueue_archived_total", "Ended jobs by what became of them on the way to the archive.",
			"outcome"),
		database: prometheus.NewGauge(
			prometheus.GaugeOpts{
				Name: "taskqueue_database_up",
				Help: "1 while the database of archive, consents and mappings answers.",
			},
		),
		checked: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "taskqueue_audit_checked_total", Help: "Jobs that the auditor looked at."},
		),
		violated: counters("taskqueue_audit_violations_total", "Broken invariants that the auditor found.", "rule"),
	}
	for _, c := range []prometheus.Collector{
		m.enqueued, m.claimed, m.claimTime, m.attempts, m.runTime, m.lost, m.callbacks, m.dropped, m.reaped, m.depth, m.age,
		m.running,
		m.archived, m.database, m.checked, m.violated, m.wait, m.refused, m.ready, m.scheduled, m.dead, m.backlog,
		m.endsLimit, m.held, m.channelHeld, m.memory, m.paused} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	m.zero()
	return m, nil
}

func buckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 30, 120}
}

func waits() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func (m *Metrics) zero() {
	for _, o := range janitor.Outcomes() {
		m.archived.WithLabelValues(o)
	}
	for _, r := range audit.Rules() {
		m.violated.WithLabelValues(string(r))
	}
	for _, kind := range pauseKinds() {
		m.held.WithLabelValues(kind)
	}
	for _, reason := range submit.Refusals() {
		m.refused.WithLabelValues(reason)
	}
	for _, l := range job.Lanes() {
		m.wait.WithLabelValues(l.Channel.String(), l.Priority.String())
		m.ready.WithLabelValues(l.Channel.String(), l.Priority.String())
		m.scheduled.WithLabelValues(l.Channel.String(), l.Priority.String())
		m.enqueued.WithLabelValues(l.Channel.String(), l.Priority.String())
		m.depth.WithLabelValues(l.Channel.String(), l.Priority.String())
		m.age.WithLabelValues(l.Channel.String(), l.Priority.String())
	}
	for _, c := range job.Channels() {
		m.claimed.WithLabelValues(c.String())
		m.lost.WithLabelValues(c.String())
		m.runTime.WithLabelValues(c.String())
		m.running.WithLabelValues(c.String())
		for _, o := range outcomes() {
			m.attempts.WithLabelValues(c.String(), o)
		}
		for d := job.ExpireRequeue; d <= job.ExpireDrop; d++ {
			m.reaped.WithLabelValues(c.String(), d.String())
		}
	}
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
	if up {
		m.database.Set(1)
		return
	}
	m.database.Set(0)
}

// Audited counts what one round of the auditor looked at and found.
func (m *Metrics) Audited(checked int, found []audit.Violation) {
	m.checked.Add(float64(checked))
	for _, v := range found {
		m.violated.WithLabelValues(string(v.Rule)).Inc()
	}
}
