package freshness

import "github.com/prometheus/client_golang/prometheus"

// Collector returns the metrics of the watch, computed when someone asks.
func (w *Watch) Collector() prometheus.Collector {
	return collector{
		watch: w,
		age: prometheus.NewDesc("search_data_age_seconds",
			"Age of the newest moment up to which the index is complete; while that was never known, seconds since the start.",
			nil, nil),
		healthy: prometheus.NewDesc("search_cdc_healthy",
			"1 while the age of the data is known and below the threshold, else 0.", nil, nil),
	}
}

type collector struct {
	watch        *Watch
	age, healthy *prometheus.Desc
}

var _ prometheus.Collector = (*collector)(nil)

func (c collector) Describe(to chan<- *prometheus.Desc) {
	to <- c.age
	to <- c.healthy
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	report := c.watch.Report()
	healthy := 0.0
	if report.Status == Healthy {
		healthy = 1
	}
	to <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, c.watch.age(report))
	to <- prometheus.MustNewConstMetric(c.healthy, prometheus.GaugeValue, healthy)
}
