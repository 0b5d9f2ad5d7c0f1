package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/migrations"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "callout"

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
	if err := s.CheckDatabase("database", cfg.DB, migrations.Schemas()); err != nil {
		return err
	}
	cache, err := s.Cache(cfg.KV)
	if err != nil {
		return err
	}
	store, err := mysql.New(db, s.Clock, callout.Pace{After: cfg.EscalateAfter, Most: cfg.EscalateMost})
	if err != nil {
		return err
	}
	metrics := newMetrics(s.Registry, s.Clock)
	jobs, err := newJobs(s, cfg, store)
	if err != nil {
		return err
	}
	signals := s.Signals(cache, "callout_live")
	silence := escalate.Silence{
		Store: mysql.Escalations{Store: store}, Clock: s.Clock, Counters: metrics, Signals: signals,
	}
	relay, err := newRelay(s, cfg, db, jobs, silence)
	if err != nil {
		return err
	}
	u := newUseCases(s, store, relay, signals, cfg, metrics)
	server, err := s.GRPC(s.Authenticator(cache))
	if err != nil {
		return err
	}
	calloutv1.RegisterCalloutServiceServer(server, u.server(metrics))
	s.Check("cache", service.Ping(cache))
	s.Every("reaper", cfg.Reap.Interval, u.reaper(s, cfg, store, jobs, metrics).RunOnce)
	s.Every("sweeper", cfg.Sweep.Interval, u.sweeper(s, cfg, store, metrics).RunOnce)
	return nil
}

// Migrate checks the platform's tables and creates or updates the service's own.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Indexes: mysql.LegacyIndexes(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}

// Locks are those of the service's loops.
func Locks() []mysqldb.Lock { return mysql.Locks() }
