package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/grpcapi"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/migrations"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "cellcounter"

// Serve runs the service until ctx ends. Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	p := service.Process{Name: Name, Version: version, Config: cfg.Config, Prefix: Prefix, Settings: &cfg}
	return service.Run(ctx, p, logs, func(_ context.Context, s *service.Service) error { return build(s, cfg) })
}

func build(s *service.Service, cfg Config) error {
	db, err := s.Database(cfg.DB)
	if err != nil {
		return err
	}
	cache, err := s.Cache(cfg.KV)
	if err != nil {
		return err
	}
	store := mysql.New(db, s.Clock)
	metrics, err := newMetrics(s.Registry)
	if err != nil {
		return err
	}
	server, err := s.GRPC(s.Authenticator(cache))
	if err != nil {
		return err
	}
	cellcounterv1.RegisterCellCounterServiceServer(server, grpcapi.New(
		configure.New(store, metrics), observe.New(store, s.Clock), grpcapi.DefaultScope(cfg.DefaultScope)))
	s.Check("database", store.Ready)
	s.Check("cache", service.Ping(cache))
	return nil
}

// Migrate checks the platform's tables and creates the service's own. It may be repeated and may run in several
// replicas at once.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	db, err := mysqldb.Open(cfg.DB, nil)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close()
	if err := mysqldb.RequireColumns(ctx, db, mysql.LegacyColumns()); err != nil {
		return fmt.Errorf("check tables: %w", err)
	}
	if err := mysqldb.Migrate(ctx, db, Name, migrations.Files, log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}
