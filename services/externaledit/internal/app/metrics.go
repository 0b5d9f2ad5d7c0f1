package app

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/grpcapi"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// counters holds the Prometheus metrics that the use cases and loops update.
type counters struct {
	created, refused, restored           prometheus.Counter
	ended, uploads, bytes, agents, swept *prometheus.CounterVec
	watching                             prometheus.Gauge
	seconds                              *prometheus.HistogramVec
}

func newCounters(registry prometheus.Registerer) *counters {
	m := telemetry.NewMetrics(registry)
	return &counters{
		created: m.Counter("externaledit_sessions_created_total", "Sessions opened."),
		refused: m.Counter("externaledit_sessions_refused_total",
			"Requests for a session that got 409, usually because the report had an active one."),
		restored: m.Counter("externaledit_revisions_restored_total", "Earlier saves linked to their report again."),
		ended: m.Counters("externaledit_sessions_ended_total", "Sessions ended, by reason.",
			telemetry.By("reason", session.ByAuthor, session.Expired, session.TakenOver, session.ByAdmin)),
		uploads: m.Counters("externaledit_uploads_total", "Uploads, by outcome; left_behind is counted in addition, if files could not be deleted at once.",
			telemetry.By("outcome", upload.Outcomes()...)),
		bytes: m.Counters("externaledit_upload_bytes_total", "Bytes stored, by file of the upload.",
			telemetry.By("file", document.Word.Field, document.PDF.Field)),
		agents: m.Counters("externaledit_upload_requests_total",
			"Uploads, by whether they name the desktop client as their sender.", telemetry.By("desktop_client", true, false)),
		watching: m.Gauge("externaledit_event_streams", "Open streams of events."),
		swept: m.Counters("externaledit_swept_total", "Repairs of the sweeper, failed ones included, by outcome.",
			telemetry.By("outcome", sweep.Outcomes()...)),
		seconds: m.Histograms("externaledit_operation_seconds", "Duration of an operation in seconds.",
			prometheus.ExponentialBuckets(0.002, 2, 16), // from two milliseconds to about a minute
			telemetry.By("operation", grpcapi.Operations()...)),
	}
}

func (c *counters) Created() { c.created.Inc() }

func (c *counters) Refused() { c.refused.Inc() }

func (c *counters) Ended(reason session.EndReason) { c.ended.WithLabelValues(string(reason)).Inc() }

func (c *counters) Uploaded(outcome string) { c.uploads.WithLabelValues(outcome).Inc() }

func (c *counters) Received(field string, bytes int64) {
	c.bytes.WithLabelValues(field).Add(float64(bytes))
}

func (c *counters) Agent(declared bool) {
	c.agents.WithLabelValues(strconv.FormatBool(declared)).Inc()
}

func (c *counters) Restored() { c.restored.Inc() }

func (c *counters) Watching(change int) { c.watching.Add(float64(change)) }

func (c *counters) Swept(outcome string, n int) { c.swept.WithLabelValues(outcome).Add(float64(n)) }

func (c *counters) Took(operation string, d time.Duration) {
	c.seconds.WithLabelValues(operation).Observe(d.Seconds())
}
