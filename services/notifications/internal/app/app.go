package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/delivery"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/grpcapi"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/store/mysql"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
	"github.com/labplatform/labplatform/services/notifications/migrations"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "notifications"

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
	s.Check("cache", service.Ping(cache))
	store, err := mysql.New(db, s.Clock)
	if err != nil {
		return err
	}
	metrics := newMetrics(s.Registry)
	zone, err := notification.ParseZone(cfg.Zone)
	if err != nil {
		return fmt.Errorf("deployment zone: %w", err)
	}
	signals := s.Signals(cache, "notifications_live")
	provider, err := newTopics(s, cfg)
	if err != nil {
		return err
	}
	devices := device.New(store, provider, zone, s.Clock)
	queue, err := s.Client(cfg.TaskqueueAddr, "taskqueue")
	if err != nil {
		return err
	}
	relay, err := s.Outbox(cfg.Outbox, db, mysql.OutboxTable, func(t outbox.Table) map[string]outbox.Deliver {
		return delivery.Dispatcher{
			Table:     t,
			TaskQueue: taskqueuev1.NewTaskQueueServiceClient(queue),
			Devices:   devices,
		}.Receivers()
	})
	if err != nil {
		return err
	}
	server, err := s.GRPC(s.Authenticator(cache), grpcapi.Anonymous()...)
	if err != nil {
		return err
	}
	notificationsv1.RegisterNotificationsServiceServer(server, grpcapi.New(grpcapi.Deps{
		Inbox:       inbox.New(store, s.Clock, metrics, signals),
		Preferences: preference.New(store, delivery.Messages{}, s.Clock, cfg.BulkPermission, relay.Wake),
		Devices:     devices,
		Notifier: notify.NewNotifier(notify.Deps{
			Store: store, Messages: delivery.Messages{}, Zone: zone, Clock: s.Clock, Observer: metrics, WakeRelay: relay.Wake,
			Signals: signals,
		}),
		Live: live.New(live.Deps{
			Store: store, Signals: signals, Clock: s.Clock, Gauge: metrics, MaxUnread: inbox.MaxUnread,
			MaxAge: time.Duration(cfg.EventStreamSeconds) * time.Second,
		}),
	}))
	sweeper := sweep.New(sweep.Deps{Config: cfg.Sweep, Store: store, Topics: provider, Clock: s.Clock, Counters: metrics})
	s.Every("sweeper", cfg.Sweep.Interval, sweeper.RunOnce)
	return nil
}

// Migrate creates or updates the service's tables and the platform's notification types.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}

// Locks are those of the service's loops.
func Locks() []mysqldb.Lock { return mysql.Locks() }
