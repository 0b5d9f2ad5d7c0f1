package app

import (
	"database/sql"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/callout/internal/claim"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/grpcapi"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/live"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// newJobs returns the client that creates and cancels escalation jobs in the task queue.
func newJobs(s *service.Service, cfg Config, store *mysql.Store) (delivery.Jobs, error) {
	conn, err := s.Client(cfg.TaskqueueAddr, "taskqueue")
	if err != nil {
		return delivery.Jobs{}, err
	}
	queue := taskqueuev1.NewTaskQueueServiceClient(conn)
	return delivery.Jobs{BaseURL: cfg.WebhookURL, Queue: queue, Deadlines: store, Clock: clock.System{}}, nil
}

// newRelay returns the relay that delivers outbox messages to notifications and the task queue.
func newRelay(
	s *service.Service, cfg Config, db *sql.DB, jobs delivery.Jobs,
	notifications delivery.Notifications, notices delivery.Notices,
) (*outbox.Relay, error) {
	return s.Outbox(cfg.Outbox, db, mysql.OutboxTable, func(t outbox.Table) map[string]outbox.Deliver {
		return delivery.Dispatcher{
			Table: t.Name(), Notifications: notifications, Jobs: jobs, Notices: notices,
		}.Receivers()
	})
}

// newNotifications returns the client of the notification service; nil if its address is not set.
func newNotifications(s *service.Service, cfg Config) (delivery.Notifications, error) {
	conn, err := s.Client(cfg.NotificationsAddr, "notifications")
	if err != nil || conn == nil {
		return nil, err
	}
	return notificationsv1.NewNotificationsServiceClient(conn), nil
}

// useCases holds the use cases that the gRPC server and the loops call.
type useCases struct{ grpcapi.UseCases }

func newUseCases(
	s *service.Service, store *mysql.Store, evaluator *evaluate.UseCase, wake func(), signals *livefeed.Signals,
	cfg Config, m *metrics,
) useCases {
	list := worklist.New(store, s.Clock)
	return useCases{grpcapi.UseCases{
		Records: records.New(store),
		History: history.New(store),
		Save: save.New(save.Deps{
			Store: store, Clock: s.Clock, WakeRelay: wake, Counters: m, Signals: signals,
		}),
		Claim:    claim.New(store, signals),
		Evaluate: evaluator,
		Worklist: list,
		Settings: settings.New(store, evaluator, s.Clock, cfg.SettingsPermission),
		Live: live.New(live.Deps{
			Worklist: list, Signals: signals, Gauge: m, MaxAge: cfg.Live.MaxAge(),
		}),
	}}
}

func (u useCases) server(m *metrics) *grpcapi.Server {
	u.Durations = m
	return grpcapi.New(u.UseCases)
}

func (u useCases) reaper(
	s *service.Service, cfg Config, store *mysql.Store, jobs delivery.Jobs, reach reap.Reach, m *metrics,
) *reap.Reaper {
	return reap.New(reap.Deps{
		Config: cfg.Reap, Store: mysql.Reaps{Store: store}, Evaluator: u.Evaluate, Reach: reach, Jobs: jobs,
		Clock: s.Clock, Log: s.Log, Counters: m,
	})
}

func (u useCases) sweeper(s *service.Service, cfg Config, store *mysql.Store, m *metrics) *sweep.Sweeper {
	found := mysql.Sweeps{Store: store}
	return sweep.New(cfg.Sweep, found, found, u.Evaluate, s.Clock, m)
}
