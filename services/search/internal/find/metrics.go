package find

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// otherKey stands for a search_key that does not exist: labels never hold what callers wrote.
const otherKey = "other"

// Metrics counts searches. Every series exists from the start.
type Metrics struct {
	queries  *prometheus.CounterVec
	duration *prometheus.HistogramVec
	hits     *prometheus.HistogramVec
	zero     *prometheus.CounterVec
	buckets  *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		queries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "search_queries_total", Help: "Searches by search_key and how they ended."}, []string{"key", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "search_query_duration_seconds", Help: "Time that the index took for a search, failed ones included.",
			Buckets: []float64{.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5}}, []string{"key"}),
		hits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "search_query_hits", Help: "How many patients a search found, on all pages together; counted to 10,000.",
			Buckets: []float64{0, 1, 2, 5, 10, 20, 50, 100, 1000, 10_000}}, []string{"key"}),
		zero: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "search_zero_results_total", Help: "Searches that found no one."}, []string{"key"}),
		buckets: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "search_bucket_hits_total",
			Help: "Hits that were shown, by the family of identifiers that produced them.",
		}, []string{"bucket"}),
	}
	for _, c := range []prometheus.Collector{m.queries, m.duration, m.hits, m.zero, m.buckets} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	m.start()
	return m, nil
}

func outcomes() []string {
	return []string{"ok", "partial", "invalid", "forbidden", "limited", "unavailable", "timeout", "canceled", "error"}
}

// start makes every series exist.
func (m *Metrics) start() {
	for _, key := range search.Keys() {
		m.duration.WithLabelValues(string(key))
		m.hits.WithLabelValues(string(key))
		m.zero.WithLabelValues(string(key))
	}
	for _, key := range append(search.Keys(), otherKey) {
		for _, outcome := range outcomes() {
			m.queries.WithLabelValues(string(key), outcome)
		}
	}
	for _, bucket := range search.Buckets() {
		m.buckets.WithLabelValues(string(bucket))
	}
}

func (m *Metrics) took(ctx context.Context, key search.Key, d time.Duration) {
	telemetry.Observe(ctx, m.duration.WithLabelValues(string(key)), d.Seconds())
}

// finished counts a search that asked for key.
func (m *Metrics) finished(key search.Key, a Answer, err error) {
	m.queries.WithLabelValues(label(key), outcome(a, err)).Inc()
	if err != nil {
		return
	}
	found := string(a.Query.Key)
	m.hits.WithLabelValues(found).Observe(float64(a.Total))
	if a.Total == 0 {
		m.zero.WithLabelValues(found).Inc()
	}
	for _, hit := range a.Hits {
		if hit.Bucket != "" {
			m.buckets.WithLabelValues(string(hit.Bucket)).Inc()
		}
	}
}

func label(key search.Key) string {
	switch {
	case key == "":
		return string(search.All)
	case key.Fields() == nil:
		return otherKey
	}
	return string(key)
}
