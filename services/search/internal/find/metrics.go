package find

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// otherKey is the label for unknown search keys, because labels must not contain text from callers.
const otherKey = "other"

// Metrics counts searches and their results.
type Metrics struct {
	queries, zero, buckets *prometheus.CounterVec
	duration, hits         *prometheus.HistogramVec
}

// NewMetrics registers the metrics of searches.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m, key := telemetry.NewMetrics(registry), telemetry.By("key", search.Keys()...)
	return &Metrics{
		queries: m.Counters("search_queries_total", "Searches by search_key and outcome.",
			telemetry.By("key", append(search.Keys(), otherKey)...), telemetry.By("outcome", outcomes()...)),
		duration: m.Histograms("search_query_duration_seconds",
			"Time of the index for a search in seconds, failed ones included.",
			[]float64{.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5}, key),
		hits: m.Histograms("search_query_hits", "Patients found by a search, on all pages together; counted to 10,000.",
			[]float64{0, 1, 2, 5, 10, 20, 50, 100, 1000, 10_000}, key),
		zero: m.Counters("search_zero_results_total", "Searches without results.", key),
		buckets: m.Counters("search_bucket_hits_total", "Hits shown, by the family of identifiers that produced them.",
			telemetry.By("bucket", search.Buckets()...)),
	}
}

func outcomes() []string {
	return []string{"ok", "partial", "invalid", "forbidden", "limited", "unavailable", "timeout", "canceled", "error"}
}

func (m *Metrics) took(ctx context.Context, key search.Key, d time.Duration) {
	telemetry.Observe(ctx, m.duration.WithLabelValues(string(key)), d.Seconds())
}

// finished counts a search by key and outcome.
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
