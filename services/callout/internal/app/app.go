package app

import (
	"context"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/service"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/migrations"
)

// Service describes the process.
var Service = service.Standard[Config, *Config]{
	Name: "callout", Prefix: "CALLOUT_", GRPCPort: 9006, AdminPort: 8006,
	Summary: "finds critical results, and records who was told of them",
	Build:   build, Migrate: migrate, Locks: mysql.Locks(),
}

func build(_ context.Context, s *service.Service, cfg Config) error {
	db, cache, err := s.Open(cfg.Stores, migrations.Schemas())
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
	s.Every("reaper", cfg.Reap.Interval, u.reaper(s, cfg, store, jobs, metrics).RunOnce)
	s.Every("sweeper", cfg.Sweep.Interval, u.sweeper(s, cfg, store, metrics).RunOnce)
	return nil
}

// migrate checks the platform's tables and creates or updates the service's own.
func migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Indexes: mysql.LegacyIndexes(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}
