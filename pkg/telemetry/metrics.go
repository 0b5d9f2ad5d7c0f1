package telemetry

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics declares metrics: each call registers one and creates the series of all combinations of its labels' known
// values at zero, so that the first increase of each is seen. It panics when a name is declared twice.
type Metrics struct{ factory promauto.Factory }

// NewMetrics returns a Metrics that registers in registry.
func NewMetrics(registry prometheus.Registerer) Metrics { return Metrics{promauto.With(registry)} }

// Label is a label's name with its known values. Without known values a series appears with its first measurement.
type Label struct {
	name   string
	values []string
}

// By returns the label called name with these values, as fmt.Sprint prints them.
func By[T any](name string, values ...T) Label {
	l := Label{name: name}
	for _, v := range values {
		l.values = append(l.values, fmt.Sprint(v))
	}
	return l
}

// Counter declares a counter without labels.
func (m Metrics) Counter(name, help string) prometheus.Counter {
	return m.factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// Counters declares a counter with labels.
func (m Metrics) Counters(name, help string, labels ...Label) *prometheus.CounterVec {
	return start(m.factory.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names(labels)), labels)
}

// Gauge declares a gauge without labels.
func (m Metrics) Gauge(name, help string) prometheus.Gauge {
	return m.factory.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// Gauges declares a gauge with labels.
func (m Metrics) Gauges(name, help string, labels ...Label) *prometheus.GaugeVec {
	return start(m.factory.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, names(labels)), labels)
}

// GaugeFunc declares a gauge whose value read returns at each collection. read must be safe for concurrent use.
func (m Metrics) GaugeFunc(name, help string, read func() float64) {
	m.factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

// CounterFunc declares a counter whose value read returns at each collection. read must be safe for concurrent use.
func (m Metrics) CounterFunc(name, help string, read func() float64) {
	m.factory.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read)
}

// Histogram declares a histogram without labels.
func (m Metrics) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	return m.factory.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// Histograms declares a histogram with labels.
func (m Metrics) Histograms(name, help string, buckets []float64, labels ...Label) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
	return start(m.factory.NewHistogramVec(opts, names(labels)), labels)
}

// Bool returns the value of a gauge for a condition: 1 if it holds, otherwise 0.
func Bool(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func names(labels []Label) []string {
	all := make([]string, len(labels))
	for i, l := range labels {
		all[i] = l.name
	}
	return all
}

// start creates the series of all combinations of the labels' values.
func start[V interface{ WithLabelValues(...string) M }, M any](metric V, labels []Label) V {
	for _, values := range combinations(labels) {
		metric.WithLabelValues(values...)
	}
	return metric
}

// combinations returns one value of each label in every combination; none when a label has no values.
func combinations(labels []Label) [][]string {
	all := [][]string{nil}
	for _, l := range labels {
		var longer [][]string
		for _, values := range all {
			for _, v := range l.values {
				longer = append(longer, append(values[:len(values):len(values)], v))
			}
		}
		all = longer
	}
	return all
}
