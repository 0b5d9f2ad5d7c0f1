package app

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// tables are the values of the label topic: the tables whose topics are consumed, and other.
func tables() []string {
	return []string{change.UserDetails, change.Billing, change.LabReportRelation, change.UserMeta, change.Heartbeat, "other"}
}

// counters implements the observers of the pipeline. Every series exists from the start.
type counters struct {
	consumed, processed, failed, dead, retried, ended *prometheus.CounterVec
	skipped                                           *prometheus.CounterVec
	letterFailures                                    prometheus.Counter
	batches, seconds                                  *prometheus.HistogramVec
}

func newCounters(registry prometheus.Registerer) (*counters, error) {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	c := &counters{
		consumed:  vec("cdc_messages_consumed_total", "Records whose end is durable; the sum of cdc_outcomes_total.", "topic"),
		processed: vec("cdc_messages_processed_total", "Records that ended well: applied, superseded, coalesced or skipped.", "topic"),
		failed:    vec("cdc_messages_failed_total", "Records whose first try failed, and records given up.", "topic"),
		dead:      vec("cdc_messages_dlq_total", "Records written to the dead-letter topic.", "topic"),
		retried:   vec("cdc_messages_retried_total", "Records tried again.", "topic"),
		ended:     vec("cdc_outcomes_total", "Records by how they ended.", "topic", "outcome"),
		skipped:   vec("cdc_skipped_total", "Records with nothing to do, by reason.", "reason"),
		letterFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cdc_dead_letter_failures_total", Help: "Dead letters that could not be written at once."}),
		batches: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "cdc_batch_records", Help: "Records in a batch.",
			Buckets: []float64{1, 5, 20, 50, 100, 200, 500, 1000}}, []string{"topic"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "cdc_batch_seconds", Help: "From a batch's begin to its mark, retries included.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 13)}, []string{"topic"}),
	}
	for _, v := range []prometheus.Collector{c.consumed, c.processed, c.failed, c.dead, c.retried, c.ended, c.skipped, c.letterFailures, c.batches, c.seconds} {
		if err := registry.Register(v); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	c.start()
	return c, nil
}

// start makes every series exist.
func (c *counters) start() {
	for _, table := range tables() {
		for _, v := range []*prometheus.CounterVec{c.consumed, c.processed, c.failed, c.dead, c.retried} {
			v.WithLabelValues(table)
		}
		for _, kind := range outcome.Kinds() {
			c.ended.WithLabelValues(table, kind.String())
		}
	}
}

// Consumed implements consume.Observer.
func (c *counters) Consumed(table string, n int) { c.consumed.WithLabelValues(table).Add(float64(n)) }

// Failed implements consume.Observer.
func (c *counters) Failed(table string, n int) { c.failed.WithLabelValues(table).Add(float64(n)) }

// Retried implements consume.Observer.
func (c *counters) Retried(table string, n int) { c.retried.WithLabelValues(table).Add(float64(n)) }

// DeadLetterFailed implements consume.Observer.
func (c *counters) DeadLetterFailed() { c.letterFailures.Inc() }

// Finished implements consume.Observer.
func (c *counters) Finished(table string, results []outcome.Result, took time.Duration) {
	c.batches.WithLabelValues(table).Observe(float64(len(results)))
	c.seconds.WithLabelValues(table).Observe(took.Seconds())
	for _, r := range results {
		c.ended.WithLabelValues(table, r.Kind.String()).Inc()
		switch r.Kind {
		case outcome.Dead:
			c.dead.WithLabelValues(table).Inc()
			c.failed.WithLabelValues(table).Inc()
			continue
		case outcome.Skipped:
			c.skipped.WithLabelValues(r.Reason).Inc()
		case outcome.Applied, outcome.Superseded, outcome.Coalesced:
		}
		c.processed.WithLabelValues(table).Inc()
	}
}

// gauges are read from the consumer when somebody asks.
type gauges struct {
	group  *broker.Group
	status *consume.Status
	clock  clock.Clock

	up, poll, success, lag, partitionLag, paused, pausedSeconds *prometheus.Desc
	started                                                     time.Time
}

func newGauges(group *broker.Group, status *consume.Status, c clock.Clock) *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &gauges{group: group, status: status, clock: c, started: c.Now(),
		up:            desc("cdc_up", "1 while this process is a member of the consumer group and fetches, else 0."),
		poll:          desc("cdc_last_poll_seconds_ago", "Seconds since the last fetch from the brokers."),
		success:       desc("cdc_last_success_seconds_ago", "Seconds since the last batch was finished, or since the start."),
		lag:           desc("cdc_consumer_lag", "Records of this process's partitions that are not done."),
		partitionLag:  desc("cdc_partition_lag", "Records of a partition that are not done.", "topic", "partition"),
		paused:        desc("cdc_partitions_paused", "Partitions that wait out a fault."),
		pausedSeconds: desc("cdc_paused_seconds_total", "Seconds that partitions have waited out faults."),
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.up, g.poll, g.success, g.lag, g.partitionLag, g.paused, g.pausedSeconds} {
		to <- d
	}
}

// upWindow is how recent the last fetch of a consumer that is up must be.
const upWindow = 30 * time.Second

// Collect implements prometheus.Collector.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	now, state := g.clock.Now(), g.group.State()
	poll := now.Sub(state.LastPoll)
	up := 0.0
	if state.Member && poll < upWindow {
		up = 1
	}
	last := g.status.LastSuccess()
	if last.IsZero() {
		last = g.started
	}
	lag, paused := int64(0), 0
	for _, p := range g.status.Partitions() {
		lag += p.Lag
		if p.Fault != nil {
			paused++
		}
		gauge(g.partitionLag, float64(p.Lag), p.Topic, strconv.Itoa(int(p.Partition)))
	}
	gauge(g.up, up)
	gauge(g.poll, poll.Seconds())
	gauge(g.success, now.Sub(last).Seconds())
	gauge(g.lag, float64(lag))
	gauge(g.paused, float64(paused))
	to <- prometheus.MustNewConstMetric(g.pausedSeconds, prometheus.CounterValue, g.status.Paused().Seconds())
}
