package app

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
)

// gauges are read from the consumer when someone asks.
type gauges struct {
	group  *broker.Group
	status *consume.Status
	clock  clock.Clock

	up, poll, success, lag, partitionLag, paused, pausedSeconds *prometheus.Desc
	started                                                     time.Time
}

var _ prometheus.Collector = (*gauges)(nil)

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

func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.up, g.poll, g.success, g.lag, g.partitionLag, g.paused, g.pausedSeconds} {
		to <- d
	}
}

// upWindow is how recent the last fetch of a consumer that is up must be.
const upWindow = 30 * time.Second

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
