package service

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// dependencyUp shows the readiness checks, so that an outage is visible before the first request meets it.
var dependencyUp = prometheus.NewDesc("dependency_up",
	"1 while a dependency of the process responds to its readiness check, otherwise 0.", []string{"dependency"}, nil)

// dependencies collects the last results of the checks.
type dependencies struct{ health *httpserver.Health }

var _ prometheus.Collector = dependencies{}

func (d dependencies) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- dependencyUp }

func (d dependencies) Collect(metrics chan<- prometheus.Metric) {
	for name, state := range d.health.Dependencies() {
		up := telemetry.Bool(state == httpserver.Up)
		metrics <- prometheus.MustNewConstMetric(dependencyUp, prometheus.GaugeValue, up, name)
	}
}

// register adds the metrics that every process has.
func (s *Service) register() {
	s.Registry.MustRegister(dependencies{s.Health})
	telemetry.NewMetrics(s.Registry).
		Gauges("build_info", "1, with the version of the process and the revision of its source.",
			telemetry.By("version", s.process.Version), telemetry.By("revision", revision())).
		WithLabelValues(s.process.Version, revision()).Set(1)
}

// revision returns the commit that the binary was built from, or "unknown" if it was built outside version control, as
// images are. The version of an image is its tag.
func revision() string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return "unknown"
}
