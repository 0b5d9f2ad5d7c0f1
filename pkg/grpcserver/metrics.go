package grpcserver

import (
	"fmt"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

type metrics struct {
	calls   *grpcprom.ServerMetrics
	refused prometheus.Counter
	panics  *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) (metrics, error) {
	calls := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram())
	if err := registry.Register(calls); err != nil {
		return metrics{}, fmt.Errorf("register grpc metrics: %w", err)
	}
	m := telemetry.NewMetrics(registry)
	return metrics{
		calls:   calls,
		refused: m.Counter("grpc_server_refused_total", "Calls refused because the caller had no slot left."),
		panics: m.Counters("grpc_server_panics_total", "Calls whose handler panicked, by method.",
			telemetry.By[string]("grpc_method")),
	}, nil
}
