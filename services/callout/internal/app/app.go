package app

import (
	"context"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/reach"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/migrations"
)

// Service describes the callout process: its ports, its settings and how it is built and migrated.
var Service = service.Standard[Config, *Config]{
	Name: "callout", Prefix: "CALLOUT_", GRPCPort: 9006, AdminPort: 8006,
	Summary: "finds critical results, notifies clinicians, and records calls",
	Build:   build, Migrate: migrate, Locks: mysql.Locks(),
}

func build(_ context.Context, s *service.Service, cfg Config) error {
	db, cache, err := s.Open(cfg.Stores, migrations.Schemas())
	if err != nil {
		return err
	}
	store, err := mysql.New(db, s.Clock, delivery.Messages{}, callout.Settings{
		Pace:           callout.Pace{After: cfg.EscalateAfter, Most: cfg.EscalateMost},
		ReadBackNeeded: true, RemindAfter: cfg.RemindAfter,
	})
	if err != nil {
		return err
	}
	metrics := newMetrics(s.Registry, s.Clock)
	jobs, err := newJobs(s, cfg, store)
	if err != nil {
		return err
	}
	notifications, err := newNotifications(s, cfg)
	if err != nil {
		return err
	}
	signals := s.Signals(cache, "callout_live")
	var relay *outbox.Relay // declared first, because the evaluator and the relay's messages need each other
	wake := func() { relay.Wake() }
	evaluator := evaluate.New(evaluate.Deps{
		Store: store, Clock: s.Clock, WakeRelay: wake, Counters: metrics, Signals: signals, Log: s.Log,
	})
	notices := reach.New(reach.Deps{
		Store: store, Ledgers: store, Client: delivery.Reach{Notifications: notifications}, Evaluator: evaluator,
		Signals: signals, Counters: metrics, Clock: s.Clock,
	})
	if relay, err = newRelay(s, cfg, db, jobs, notifications, notices); err != nil {
		return err
	}
	u := newUseCases(s, store, evaluator, wake, signals, cfg, metrics)
	server, err := s.GRPC(s.Authenticator(cache))
	if err != nil {
		return err
	}
	calloutv1.RegisterCalloutServiceServer(server, u.server(metrics))
	s.Every("reaper", cfg.Reap.Interval, u.reaper(s, cfg, store, jobs, notices, metrics).RunOnce)
	s.Every("sweeper", cfg.Sweep.Interval, u.sweeper(s, cfg, store, metrics).RunOnce)
	return nil
}

// migrate checks the platform's tables and creates or updates the service's own.
func migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Indexes: mysql.LegacyIndexes(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}
