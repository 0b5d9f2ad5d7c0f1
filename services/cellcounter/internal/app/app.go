package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/service"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/grpcapi"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/migrations"
)

// Name is the service's name in logs, tokens and its table of migration versions.
const Name = "cellcounter"

// Serve runs the service until ctx ends and writes its logs to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	p := service.Process{Name: Name, Version: version, Config: cfg.Config, Prefix: Prefix, Settings: &cfg}
	return service.Run(ctx, p, logs, func(_ context.Context, s *service.Service) error { return build(s, cfg) })
}

func build(s *service.Service, cfg Config) error {
	db, err := s.Database(cfg.DB)
	if err != nil {
		return err
	}
	if err := s.CheckDatabase("database", cfg.DB, migrations.Schemas()); err != nil {
		return err
	}
	cache, err := s.Cache(cfg.KV)
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
	s.Check("cache", service.Ping(cache))
	return nil
}

// Migrate creates or updates the service's tables.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}
