package app

import (
	"context"
	"fmt"
	"log/slog"

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
	"github.com/labplatform/labplatform/services/notifications/internal/rename"
	"github.com/labplatform/labplatform/services/notifications/internal/store/mysql"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
	"github.com/labplatform/labplatform/services/notifications/internal/withdraw"
	"github.com/labplatform/labplatform/services/notifications/migrations"
)

// Service describes the notifications process: its ports, its settings and how it is built and migrated.
var Service = service.Standard[Config, *Config]{
	Name: "notifications", Prefix: "NOTIFICATIONS_", GRPCPort: 9008, AdminPort: 8008,
	Summary: "keeps users' inboxes and preferences, and sends notifications to push topics",
	Build:   build, Migrate: migrate, Locks: mysql.Locks(),
}

func build(_ context.Context, s *service.Service, cfg Config) error {
	db, cache, err := s.Open(cfg.Stores, migrations.Schemas())
	if err != nil {
		return err
	}
	store, err := mysql.New(db, s.Clock)
	if err != nil {
		return err
	}
	metrics := newMetrics(s.Registry, s.Health)
	zone, err := notification.ParseZone(cfg.Zone)
	if err != nil {
		return fmt.Errorf("deployment zone: %w", err)
	}
	names := notification.NewNames(zone, cfg.TopicKey.Keys())
	signals := s.Signals(cache, "notifications_live")
	provider, err := newTopics(s, cfg)
	if err != nil {
		return err
	}
	devices := device.New(device.Deps{
		Reader: store, Writer: store, Topics: provider, Names: names, Clock: s.Clock, Evictor: store, Observer: metrics,
	})
	queue, err := s.Client(cfg.TaskqueueAddr, "taskqueue")
	if err != nil {
		return err
	}
	push := pushState(s, provider, queue, metrics)
	relay, err := s.Outbox(cfg.Outbox, db, mysql.OutboxTable, func(t outbox.Table) map[string]outbox.Deliver {
		return delivery.Dispatcher{
			Table:     t,
			TaskQueue: taskqueuev1.NewTaskQueueServiceClient(queue),
			Devices:   devices,
			Store:     store,
			Observer:  metrics,
			PushOff:   provider == nil,
			Held:      push.Held,
			Paused:    push.Paused,
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
		Inbox: inbox.New(inbox.Deps{
			Reader: store, Writer: store, Clock: s.Clock, Observer: metrics, Signals: signals,
		}),
		Preferences: preference.New(store, delivery.Messages{}, s.Clock, cfg.BulkPermission, relay.Wake),
		Devices:     devices,
		Notifier: notify.NewNotifier(notify.Deps{
			Store: store, Messages: delivery.Messages{}, Names: names, Clock: s.Clock, Observer: metrics, WakeRelay: relay.Wake,
			Signals: signals, PushOff: provider == nil, PushWaits: push.WaitsFor,
		}),
		Withdrawals: withdraw.New(withdraw.Deps{Store: store, Clock: s.Clock, Observer: metrics, Signals: signals}),
		Live: live.New(live.Deps{
			Store: store, Changes: store, Signals: signals, Clock: s.Clock, Gauge: metrics, MaxUnread: inbox.MaxUnread,
			MaxAge: cfg.Live.MaxAge(),
		}),
	}))
	sweeper := sweep.New(sweep.Deps{Config: cfg.Sweep, Store: store, Topics: provider, Clock: s.Clock, Counters: metrics})
	s.Every("sweeper", cfg.Sweep.Interval, sweeper.RunOnce)
	if provider != nil { // without a provider, no device can be given a new topic name
		metrics.Behind(-1)
		renamer := rename.New(rename.Deps{Store: store, Topics: provider, Names: names, Clock: s.Clock, Gauge: metrics})
		s.Every("renamer", rename.Interval, renamer.RunOnce)
	}
	return nil
}

// migrate checks the platform's tables and creates or updates the service's tables, with the platform's notification
// types.
func migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}
