package grpcserver

import (
	"fmt"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	calls   *grpcprom.ServerMetrics
	refused prometheus.Counter
	panics  *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) (metrics, error) {
	m := metrics{
		calls: grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram()),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "grpc_server_refused_total", Help: "Calls refused because the caller had no slot left.",
		}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_panics_total", Help: "Calls whose handler panicked.",
		}, []string{"grpc_method"}),
	}
	for _, c := range []prometheus.Collector{m.calls, m.refused, m.panics} {
		if err := registry.Register(c); err != nil {
			return metrics{}, fmt.Errorf("register grpc metrics: %w", err)
		}
	}
	return m, nil
}
