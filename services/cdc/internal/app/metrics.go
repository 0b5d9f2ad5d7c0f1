package app

import (
	"context"
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

// tables returns the values of the label topic: the tables whose topics are consumed, and "other".
func tables() []string {
	return []string{
		change.UserDetails, change.Billing, change.LabReportRelation, change.UserMeta, change.Heartbeat, "other",
	}
}

// counters holds the metrics that the parts of the pipeline report.
type counters struct {
	consumed, returned, processed, failed, dead, retried, ended, skipped *prometheus.CounterVec
	letterFailures                                                       prometheus.Counter
	batches, seconds                                                     *prometheus.HistogramVec

	rows                *prometheus.CounterVec // rows of user_meta
	early, late, capped prometheus.Counter

	bulkSeconds    prometheus.Histogram
	bulkOperations prometheus.Counter
	resent         *prometheus.CounterVec

	compared, unsettled, unaccepted, held, purged prometheus.Counter
	differences                                   *prometheus.CounterVec

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

func newCounters(registry prometheus.Registerer) *counters {
	c, m := &counters{}, telemetry.NewMetrics(registry)
	c.declareRecords(m)
	c.declareStores(m)
	c.declareReconcile(m)
	c.declareConnectors(m)
	return c
}

func (c *counters) declareRecords(m telemetry.Metrics) {
	topic := telemetry.By("topic", tables()...)
	c.consumed = m.Counters("cdc_messages_consumed_total",
		"Records taken from a topic; each ends in cdc_outcomes_total or cdc_messages_returned_total.", topic)
	c.returned = m.Counters("cdc_messages_returned_total",
		"Records returned unmarked because their partition was reassigned; they are consumed again.", topic)
	c.processed = m.Counters("cdc_messages_processed_total",
		"Records applied, superseded, coalesced or skipped.", topic)
	c.failed = m.Counters("cdc_messages_failed_total", "Records whose first attempt failed, and dead letters.", topic)
	c.dead = m.Counters("cdc_messages_dlq_total", "Records written to the dead-letter topic.", topic)
	c.retried = m.Counters("cdc_messages_retried_total", "Attempts to process a record again.", topic)
	c.ended = m.Counters("cdc_outcomes_total", "Records by outcome.", topic,
		telemetry.By("outcome", outcome.Kinds()...))
	c.skipped = m.Counters("cdc_skipped_total", "Records without an effect, by reason.", telemetry.By[string]("reason"))
	c.letterFailures = m.Counter("cdc_dead_letter_failures_total", "Failed attempts to write a dead letter.")
	open := telemetry.By[string]("topic")
	c.batches = m.Histograms("cdc_batch_records", "Records in a batch.",
		[]float64{1, 5, 20, 50, 100, 200, 500, 1000}, open)
	c.seconds = m.Histograms("cdc_batch_seconds", "Seconds from a batch's start to its mark, retries included.",
		prometheus.ExponentialBuckets(0.005, 2, 13), open)
}

func (c *counters) declareStores(m telemetry.Metrics) {
	c.rows = m.Counters("cdc_projection_rows_total", "Computed rows of user_meta, written or equal to the stored row.",
		telemetry.By("result", written, equal))
	c.early = m.Counter("cdc_events_early_total",
		"Patients computed again because an event was read before its row was visible.")
	c.late = m.Counter("cdc_events_late_total",
		"Patients to be computed again later because their rows were not visible in time.")
	c.capped = m.Counter("cdc_projection_capped_total", "Rows written with a list at its limit.")
	c.bulkSeconds = m.Histogram("cdc_bulk_seconds", "Duration of answered bulk requests in seconds.",
		prometheus.ExponentialBuckets(0.002, 2, 13))
	c.bulkOperations = m.Counter("cdc_bulk_operations_total", "Operations in answered bulk requests.")
	c.resent = m.Counters("cdc_bulk_resent_total", "Operations sent again, by the index's error.",
		telemetry.By[string]("kind"))
}

func (c *counters) declareReconcile(m telemetry.Metrics) {
	c.compared = m.Counter("cdc_reconciled_patients_total", "Patients compared by the continuous reconciliation.")
	c.differences = m.Counters("cdc_reconcile_differences_total",
		"Lasting differences between sources, user_meta and index, which were sent for repair.",
		telemetry.By("kind", reconcile.Kinds()...))
	c.unsettled = m.Counter("cdc_reconcile_unsettled_total", "Patients that changed during every comparison.")
	c.unaccepted = m.Counter("cdc_reconcile_refused_total",
		"Patients whose row or document was refused at its repair, in every pass until an operator fixes the cause.")
	c.held = m.Counter("cdc_reconcile_held_total",
		"Laboratories not repaired because so much differed that an operator has to check them.")
	c.purged = m.Counter("cdc_stubs_purged_total", "Stubs deleted from the index because no older event can arrive.")
}

func (c *counters) declareConnectors(m telemetry.Metrics) {
	connector := telemetry.By("connector", connectors.Names()...)
	c.connectorUp = m.Gauges("cdc_connector_up",
		"1 while the connector runs, has tasks, and all of them run, else 0.", connector)
	c.taskState = m.Gauges("cdc_connector_task_state", "1 for the present state of a connector's task.",
		telemetry.By[string]("connector"), telemetry.By[string]("task"), telemetry.By[string]("state"))
	c.lost = m.Counters("cdc_positions_lost_total",
		"Positions lost by a connector or the consumer; all patients are computed again after each.",
		telemetry.By("reader", append(connectors.Names(), broker.GroupID)...))
	c.restarts = m.Counters("cdc_connector_restarts_total", "Restarts of failed connectors and tasks.", connector)
}

// Values of the label result: whether a computed row differed from the stored one.
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
	c.connectorUp.WithLabelValues(name).Set(telemetry.Bool(up))
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
