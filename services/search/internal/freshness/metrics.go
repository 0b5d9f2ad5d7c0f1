package freshness

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Register registers the metrics of the watch, which are computed at each collection.
func (w *Watch) Register(registry prometheus.Registerer) {
	m := telemetry.NewMetrics(registry)
	m.GaugeFunc("search_data_age_seconds",
		"Age of the newest moment up to which the index is complete; seconds since the start while it is unknown.",
		func() float64 { return w.age(w.Report()) })
	m.GaugeFunc("search_cdc_healthy", "1 while the age of the data is known and below the threshold, else 0.",
		func() float64 { return telemetry.Bool(w.Report().Status == Healthy) })
}
