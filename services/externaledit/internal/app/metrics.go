package app

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/services/externaledit/internal/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/grpcapi"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// counters implements the Counters of the use cases. Every series exists from the start.
type counters struct {
	created  prometheus.Counter
	refused  prometheus.Counter
	ended    *prometheus.CounterVec
	uploads  *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	agents   *prometheus.CounterVec
	restored prometheus.Counter
	watching prometheus.Gauge
	swept    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newCounters(registry prometheus.Registerer) (*counters, error) {
	one := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	c := &counters{
		created: one("externaledit_sessions_created_total", "Sessions that were opened."),
		refused: one("externaledit_sessions_refused_total", "Requests for a session that met an active one."),
		ended:   vec("externaledit_sessions_ended_total", "Sessions that ended.", "reason"),
		uploads: vec("externaledit_uploads_total", "Uploads, by the outcome of them.", "outcome"),
		bytes:   vec("externaledit_upload_bytes_total", "Bytes that were stored.", "file"),
		agents: vec("externaledit_upload_requests_total",
			"Uploads, by whether they said that they come from the desktop client.", "desktop_client"),
		restored: one("externaledit_revisions_restored_total", "Earlier saves that were linked again."),
		watching: prometheus.NewGauge(prometheus.GaugeOpts{Name: "externaledit_event_streams",
			Help: "Open streams of events."}),
		swept: vec("externaledit_swept_total", "Repairs of the sweeper, and those that it will try again.", "outcome"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "externaledit_operation_seconds", Help: "How long an operation took.",
			Buckets: prometheus.ExponentialBuckets(0.002, 2, 16), // two milliseconds to a minute
		}, []string{"operation"}),
	}
	for _, v := range []prometheus.Collector{c.created, c.refused, c.ended, c.uploads, c.bytes, c.agents, c.restored,
		c.watching, c.swept, c.seconds} {
		if err := registry.Register(v); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	c.start()
	return c, nil
}

// start makes every series exist.
func (c *counters) start() {
	for _, reason := range []session.EndReason{session.ByAuthor, session.Expired, session.TakenOver, session.ByAdmin} {
		c.ended.WithLabelValues(string(reason))
	}
	for _, outcome := range upload.Outcomes() {
		c.uploads.WithLabelValues(outcome)
	}
	for _, kind := range []document.Kind{document.Word, document.PDF} {
		c.bytes.WithLabelValues(kind.Field)
	}
	for _, declared := range []bool{true, false} {
		c.agents.WithLabelValues(strconv.FormatBool(declared))
	}
	for _, outcome := range sweep.Outcomes() {
		c.swept.WithLabelValues(outcome)
	}
	for _, operation := range grpcapi.Operations() {
		c.seconds.WithLabelValues(operation)
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
