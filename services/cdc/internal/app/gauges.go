package app

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
)

// gauges reads the consumer's state once per collection, for all metrics.
type gauges struct {
	group   *broker.Group
	status  *consume.Status
	clock   clock.Clock
	started time.Time
}

var _ prometheus.Collector = (*gauges)(nil)

// Describe sends nothing, because the series depend on the partitions assigned to this process.
func (g *gauges) Describe(chan<- *prometheus.Desc) {}

// upWindow is the maximum age of the last fetch for the consumer to count as up.
const upWindow = 30 * time.Second

func (g *gauges) Collect(to chan<- prometheus.Metric) {
	value := func(kind prometheus.ValueType, name, help string, v float64) {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, v)
	}
	now, state := g.clock.Now(), g.group.State()
	poll := now.Sub(state.LastPoll)
	value(prometheus.GaugeValue, "cdc_up", "1 while this process is a member of the consumer group and fetches, else 0.",
		telemetry.Bool(state.Member && poll < upWindow))
	value(prometheus.GaugeValue, "cdc_last_poll_seconds_ago", "Seconds since the last fetch from the brokers.",
		poll.Seconds())
	last := g.status.LastSuccess()
	if last.IsZero() {
		last = g.started
	}
	value(prometheus.GaugeValue, "cdc_last_success_seconds_ago",
		"Seconds since the last batch was finished, or since the start.", now.Sub(last).Seconds())
	lag, paused := g.partitions(to)
	value(prometheus.GaugeValue, "cdc_consumer_lag", "Unprocessed records of this process's partitions.", float64(lag))
	value(prometheus.GaugeValue, "cdc_partitions_paused", "Partitions paused by a fault.", float64(paused))
	value(prometheus.CounterValue, "cdc_paused_seconds_total", "Seconds that partitions were paused by faults.",
		g.status.Paused().Seconds())
}

// partitions sends the lag of each partition. It returns the total lag and the number of paused partitions.
func (g *gauges) partitions(to chan<- prometheus.Metric) (lag int64, paused int) {
	desc := prometheus.NewDesc("cdc_partition_lag", "Unprocessed records of a partition.",
		[]string{"topic", "partition"}, nil)
	for _, p := range g.status.Partitions() {
		lag += p.Lag
		if p.Fault != nil {
			paused++
		}
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(p.Lag), p.Topic,
			strconv.Itoa(int(p.Partition)))
	}
	return lag, paused
}
