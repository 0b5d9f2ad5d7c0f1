package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// labels are the names of a metric's labels, and the values of each series that exists from the start.
type labels struct {
	names  []string
	series [][]string
}

// label has one name and a series for each value.
func label[T any](name string, values ...T) labels {
	l := labels{names: []string{name}}
	for _, v := range values {
		l.series = append(l.series, []string{fmt.Sprint(v)})
	}
	return l
}

// by has a series for each pair.
func (l labels) by(other labels) labels {
	all := labels{names: append([]string{l.names[0]}, other.names...)}
	for _, one := range l.series {
		for _, more := range other.series {
			all.series = append(all.series, append([]string{one[0]}, more...))
		}
	}
	return all
}

// register makes metrics and registers them.
type register struct{ promauto.Factory }

func (r register) counter(name, help string) prometheus.Counter {
	return r.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (r register) gauge(name, help string) prometheus.Gauge {
	return r.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func (r register) counters(name, help string, l labels) *prometheus.CounterVec {
	return existing(r.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, l.names), l)
}

func (r register) gauges(name, help string, l labels) *prometheus.GaugeVec {
	return existing(r.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, l.names), l)
}

func (r register) histograms(name, help string, buckets []float64, l labels) *prometheus.HistogramVec {
	return existing(r.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, l.names), l)
}

// existing makes every series of a metric exist, at zero.
func existing[V interface{ WithLabelValues(...string) M }, M any](metric V, l labels) V {
	for _, one := range l.series {
		metric.WithLabelValues(one...)
	}
	return metric
}
