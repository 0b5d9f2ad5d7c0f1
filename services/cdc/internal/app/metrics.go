package app

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/purge"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

// tables are the values of the label topic: the tables whose topics are consumed, and other.
func tables() []string {
	return []string{
		change.UserDetails, change.Billing, change.LabReportRelation, change.UserMeta, change.Heartbeat, "other",
	}
}

// counters implements the observers of the pipeline. Every series exists from the start.
type counters struct {
	consumed, returned, processed, failed, dead, retried, ended *prometheus.CounterVec
	skipped                                                     *prometheus.CounterVec
	letterFailures                                              prometheus.Counter
	batches, seconds                                            *prometheus.HistogramVec

	rows                *prometheus.CounterVec // of user_meta
	early, late, capped prometheus.Counter

	bulkSeconds    prometheus.Histogram
	bulkOperations prometheus.Counter
	resent         *prometheus.CounterVec

	compared    prometheus.Counter
	differences *prometheus.CounterVec
	unsettled   prometheus.Counter
	unaccepted  prometheus.Counter
	held        prometheus.Counter
	purged      prometheus.Counter

	connectorUp, taskState *prometheus.GaugeVec
	restarts, lost         *prometheus.CounterVec
}

var (
	_ consume.Observer     = (*counters)(nil)
	_ indexsync.Observer   = (*counters)(nil)
	_ materialize.Observer = (*counters)(nil)
	_ purge.Observer       = (*counters)(nil)
	_ reconcile.Observer   = (*counters)(nil)
	_ supervise.Observer   = (*counters)(nil)
)

func counterBy(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func newCounters(registry prometheus.Registerer) (*counters, error) {
	c := &counters{
		consumed: counterBy("cdc_messages_consumed_total",
			"Records taken up; each ends in cdc_outcomes_total or cdc_messages_returned_total.", "topic"),
		returned: counterBy("cdc_messages_returned_total",
			"Records given back unmarked because their partition was taken away; they come again.", "topic"),
		processed: counterBy("cdc_messages_processed_total",
			"Records that ended well: applied, superseded, coalesced or skipped.", "topic"),
		failed:         counterBy("cdc_messages_failed_total", "Records whose first try failed, and records given up.", "topic"),
		dead:           counterBy("cdc_messages_dlq_total", "Records written to the dead-letter topic.", "topic"),
		retried:        counterBy("cdc_messages_retried_total", "Records tried again.", "topic"),
		ended:          counterBy("cdc_outcomes_total", "Records by how they ended.", "topic", "outcome"),
		skipped:        counterBy("cdc_skipped_total", "Records with nothing to do, by reason.", "reason"),
		letterFailures: counter("cdc_dead_letter_failures_total", "Dead letters that could not be written at once."),
		batches: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "cdc_batch_records", Help: "Records in a batch.",
			Buckets: []float64{1, 5, 20, 50, 100, 200, 500, 1000}}, []string{"topic"}),
		seconds: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "cdc_batch_seconds", Help: "From a batch's begin to its mark, retries included.",
				Buckets: prometheus.ExponentialBuckets(0.005, 2, 13)},
			[]string{"topic"},
		),
		rows: counterBy("cdc_projection_rows_total",
			"Rows of user_meta that were computed: written, or equal to what was stored.", "result"),
		early: counter("cdc_events_early_total",
			"Patients computed again because an event came before its row was readable."),
		late: counter("cdc_events_late_total",
			"Patients to be computed again later because their rows stayed behind their events."),
		capped: counter("cdc_projection_capped_total", "Rows written with a list at its limit."),
		bulkSeconds: prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "cdc_bulk_seconds", Help: "Answered bulk requests.",
				Buckets: prometheus.ExponentialBuckets(0.002, 2, 13)},
		),
		bulkOperations: counter("cdc_bulk_operations_total", "Operations in answered bulk requests."),
		resent:         counterBy("cdc_bulk_resent_total", "Operations sent again, by the index's word for why.", "kind"),
		compared:       counter("cdc_reconciled_patients_total", "Patients that the continuous proof has compared."),
		differences: counterBy("cdc_reconcile_differences_total",
			"Differences between sources, user_meta and index that stayed, and were sent for repair.", "kind"),
		unsettled: counter("cdc_reconcile_unsettled_total", "Patients that changed at every look of the proof."),
		unaccepted: counter("cdc_reconcile_refused_total",
			"Patients whose row or document was refused when the proof repaired it, at every pass until someone fixes them."),
		held: counter("cdc_reconcile_held_total",
			"Laboratories of which so much differed that the proof repaired nothing; a person has to look."),
		purged: counter("cdc_stubs_purged_total",
			"Stubs deleted from the index because no event can come back against them."),
		connectorUp: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "cdc_connector_up",
			Help: "1 while the connector runs, has tasks, and all of them run, else 0."}, []string{"connector"}),
		taskState: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "cdc_connector_task_state",
			Help: "1 for the present state of a connector's task."}, []string{"connector", "task", "state"}),
		lost: counterBy("cdc_positions_lost_total",
			"Places that a connector or the consumer lost; what they missed is found by computing all patients again.",
			"reader"),
		restarts: counterBy("cdc_connector_restarts_total", "Restarts of failed connectors and tasks.", "connector"),
	}
	for _, v := range c.all() {
		if err := registry.Register(v); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	c.start()
	return c, nil
}

func (c *counters) all() []prometheus.Collector {
	return []prometheus.Collector{
		c.consumed, c.returned, c.processed, c.failed, c.dead, c.retried, c.ended, c.skipped, c.letterFailures,
		c.batches, c.seconds, c.rows, c.early, c.late, c.capped, c.bulkSeconds, c.bulkOperations, c.resent, c.compared,
		c.differences, c.unsettled, c.unaccepted, c.held, c.purged, c.connectorUp, c.taskState,
		c.restarts, c.lost,
	}
}

// start makes every series exist.
func (c *counters) start() {
	for _, table := range tables() {
		for _, v := range []*prometheus.CounterVec{c.consumed, c.returned, c.processed, c.failed, c.dead, c.retried} {
			v.WithLabelValues(table)
		}
		for _, kind := range outcome.Kinds() {
			c.ended.WithLabelValues(table, kind.String())
		}
	}
	for _, result := range []string{written, equal} {
		c.rows.WithLabelValues(result)
	}
	for _, kind := range reconcile.Kinds() {
		c.differences.WithLabelValues(string(kind))
	}
	for _, connector := range connectors.Names() {
		c.connectorUp.WithLabelValues(connector)
		c.restarts.WithLabelValues(connector)
		c.lost.WithLabelValues(connector)
	}
	c.lost.WithLabelValues(broker.GroupID)
}

// Values of the label result.
const (
	written = "written"
	equal   = "equal"
)

func (c *counters) Consumed(table string, n int) { c.consumed.WithLabelValues(table).Add(float64(n)) }

func (c *counters) Returned(table string, n int) { c.returned.WithLabelValues(table).Add(float64(n)) }

func (c *counters) Failed(table string, n int) { c.failed.WithLabelValues(table).Add(float64(n)) }

func (c *counters) Retried(table string, n int) { c.retried.WithLabelValues(table).Add(float64(n)) }

func (c *counters) DeadLetterFailed() { c.letterFailures.Inc() }

func (c *counters) Finished(ctx context.Context, table string, results []outcome.Result, took time.Duration) {
	c.batches.WithLabelValues(table).Observe(float64(len(results)))
	telemetry.Observe(ctx, c.seconds.WithLabelValues(table), took.Seconds())
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

func (c *counters) Recomputed(rowsWritten, rowsEqual, rowsCapped int) {
	c.rows.WithLabelValues(written).Add(float64(rowsWritten))
	c.rows.WithLabelValues(equal).Add(float64(rowsEqual))
	c.capped.Add(float64(rowsCapped))
}

func (c *counters) Early(patients int) { c.early.Add(float64(patients)) }

func (c *counters) Late(patients int) { c.late.Add(float64(patients)) }

func (c *counters) Sent(operations int, took time.Duration) {
	c.bulkOperations.Add(float64(operations))
	c.bulkSeconds.Observe(took.Seconds())
}

func (c *counters) Resent(operations int, kind string) {
	c.resent.WithLabelValues(kind).Add(float64(operations))
}

func (c *counters) Connector(name string, up bool, tasks map[int]string) {
	value := 0.0
	if up {
		value = 1
	}
	c.connectorUp.WithLabelValues(name).Set(value)
	c.taskState.DeletePartialMatch(prometheus.Labels{"connector": name})
	for task, state := range tasks {
		c.taskState.WithLabelValues(name, strconv.Itoa(task), state).Set(1)
	}
}

func (c *counters) Restarted(name string) { c.restarts.WithLabelValues(name).Inc() }

func (c *counters) Lost(reader string) { c.lost.WithLabelValues(reader).Inc() }

func (c *counters) Compared(r reconcile.Result, refused int) {
	c.unaccepted.Add(float64(refused))
	c.compared.Add(float64(r.Patients))
	c.unsettled.Add(float64(r.Unsettled))
	for _, d := range r.Differences {
		c.differences.WithLabelValues(string(d.Kind)).Inc()
	}
}

func (c *counters) Held(r reconcile.Result) {
	c.held.Inc()
	c.compared.Add(float64(r.Patients))
}

func (c *counters) Purged(stubs int) { c.purged.Add(float64(stubs)) }
