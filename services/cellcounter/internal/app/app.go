package app

import (
	"context"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/service"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/grpcapi"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/migrations"
)

// Service describes the cell counter process: its ports, its settings and how it is built and migrated.
var Service = service.Standard[Config, *Config]{
	Name: "cellcounter", Prefix: "CELL_COUNTER_", GRPCPort: 9005, AdminPort: 8005,
	Summary: "maps keys and cells to report parameters, and computes differential counts",
	Build:   build, Migrate: migrate,
}

func build(_ context.Context, s *service.Service, cfg Config) error {
	db, cache, err := s.Open(cfg.Stores, migrations.Schemas())
	if err != nil {
		return err
	}
	store := mysql.New(db)
	metrics := newMetrics(s.Registry)
	server, err := s.GRPC(s.Authenticator(cache))
	if err != nil {
		return err
	}
	cellcounterv1.RegisterCellCounterServiceServer(server, grpcapi.New(grpcapi.Deps{
		Configurer: configure.New(store, s.Clock, metrics), Counter: observe.New(store, s.Clock),
		DefaultScope: grpcapi.DefaultScope(cfg.DefaultScope), Clock: s.Clock, Observer: metrics,
	}))
	return nil
}

// migrate checks the platform's tables and creates or updates the service's tables.
func migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Indexes: mysql.LegacyIndexes(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}
