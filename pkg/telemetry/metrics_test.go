package telemetry_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

type kind string

func TestSeriesOfDeclaredMetricsExistAtZeroInEveryCombination(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := telemetry.NewMetrics(registry)
	m.Counter("plain_total", "Plain.")
	m.Gauges("rows", "Rows.", telemetry.By("kind", kind("a"), kind("b")), telemetry.By("full", true, false))
	m.Counters("open_total", "Open.", telemetry.By("kind", kind("a")), telemetry.By[string]("code"))
	m.GaugeFunc("up", "Up.", func() float64 { return telemetry.Bool(true) })
	m.Histograms("seconds", "Seconds.", []float64{1}, telemetry.By("mode", "fast"))
	const want = `
# HELP plain_total Plain.
# TYPE plain_total counter
plain_total 0
# HELP rows Rows.
# TYPE rows gauge
rows{full="false",kind="a"} 0
rows{full="false",kind="b"} 0
rows{full="true",kind="a"} 0
rows{full="true",kind="b"} 0
# HELP seconds Seconds.
# TYPE seconds histogram
seconds_bucket{mode="fast",le="1"} 0
seconds_bucket{mode="fast",le="+Inf"} 0
seconds_sum{mode="fast"} 0
seconds_count{mode="fast"} 0
# HELP up Up.
# TYPE up gauge
up 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestANameIsDeclaredOnce(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(prometheus.NewRegistry())
	m.Counter("one_total", "One.")
	defer func() {
		if recover() == nil {
			t.Error("the second declaration of one_total was accepted, want a panic")
		}
	}()
	m.Counter("one_total", "One.")
}
