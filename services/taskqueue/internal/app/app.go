package app

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	random "math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/telemetry"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/grpcapi"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
	"github.com/labplatform/labplatform/services/taskqueue/internal/outbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/reaper"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

const (
	service      = "taskqueue"
	maxRun       = 330 * time.Second // the longest webhook timeout and some
	reapEvery    = time.Second
	measureEvery = 5 * time.Second
	auditEvery   = 10 * time.Second
	poolSize     = 96
)

// Serve runs the service until ctx ends. A Redis that is away or not fit makes it live and not ready; it is asked
// again until it is. Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	t, err := telemetry.Start(ctx, service, version, cfg.Telemetry, logs)
	if err != nil {
		return fmt.Errorf("start telemetry: %w", err)
	}
	group := lifecycle.New(cfg.Lifecycle, t.Logger)
	group.Close("telemetry", t.Shutdown)
	b := &builder{cfg: cfg, t: t, log: t.Logger, group: group, clock: clock.System{}}
	if err := b.build(); err != nil {
		group.Abandon(context.WithoutCancel(ctx))
		return err
	}
	return group.Wait(ctx) //nolint:wrapcheck // the runner's own words
}

// builder opens things in the order of its fields; each is closed by the group.
type builder struct {
	cfg   Config
	t     *telemetry.Telemetry
	log   *slog.Logger
	group *lifecycle.Group
	clock clock.Clock

	sessions  redis.UniversalClient
	db        *sql.DB // nil: switched off
	client    redis.UniversalClient
	gate      *engine.Gate
	ids       *job.Generator
	metrics   *metrics.Metrics
	targets   *webhook.Targets
	store     *outbox.Store
	recorder  *outbox.Recorder
	public    netguard.Config // of clients for addresses that others wrote
	handlers  map[job.Channel]worker.Handler
	providers *route.Set
}

func (b *builder) build() error {
	for _, step := range []func() error{b.openStores, b.openDatabase, b.openEngine, b.openTargets, b.openOutbox, b.openHandlers,
		b.openDatabaseHandlers, b.serve} {
		if err := step(); err != nil {
			return err
		}
	}
	b.work()
	return nil
}

func (b *builder) openStores() (err error) {
	if b.sessions, err = redisdb.Open(b.cfg.KV, b.tracers()); err != nil {
		return fmt.Errorf("open cache: %w", err)
	}
	b.group.Close("cache", func(context.Context) error { return b.sessions.Close() })
	options := redisdb.Options(b.cfg.Redis)
	options.MaxRetries = -1 // the engine knows what may be repeated
	options.PoolSize = poolSize
	b.client = redis.NewUniversalClient(options)
	b.group.Close("queue", func(context.Context) error { return b.client.Close() })
	if b.t.Tracing {
		if err := redisotel.InstrumentTracing(b.client, redisotel.WithTracerProvider(b.t.Tracers), redisotel.WithDBStatement(false)); err != nil {
			return fmt.Errorf("trace redis: %w", err)
		}
	}
	return nil
}

func (b *builder) openEngine() error {
	options := redisdb.Options(b.cfg.Redis)
	options.MaxRetries = -1
	options.PoolSize = len(job.Channels())*b.cfg.Queue.Shards + 1 // every idle pump blocks one
	bells := redis.NewUniversalClient(options)
	b.group.Close("bells", func(context.Context) error { return bells.Close() })
	q, err := engine.New(engine.Config{Client: b.client, Bells: bells, Settings: b.cfg.engine()})
	if err != nil {
		return err //nolint:wrapcheck // the same module
	}
	b.gate = engine.NewGate(q, engine.Profile(b.cfg.Queue.Profile), func(broken []string) {
		for _, one := range broken {
			b.log.Warn("redis does not keep the durable profile", "profile", b.cfg.Queue.Profile, "breach", one)
		}
	})
	b.ids = job.NewGenerator(b.clock, rand.Reader)
	b.metrics, err = metrics.New(b.t.Registry)
	return err //nolint:wrapcheck // the same module
}

// serve adds the listeners before the workers, so that they stop after them.
func (b *builder) serve() error {
	auth := authn.NewAuthenticator(b.cfg.Auth, authn.NewRedisSessions(b.sessions), service, b.clock)
	access := grpcapi.Access(b.cfg.Access)
	server, err := grpcserver.New(b.cfg.GRPC, grpcserver.Deps{Telemetry: b.t, Authenticator: auth, Anonymous: grpcapi.AnonymousMethods(access)})
	if err != nil {
		return fmt.Errorf("gRPC server: %w", err)
	}
	taskqueuev1.RegisterTaskQueueServiceServer(server, grpcapi.New(b.submitter(), b.manager(), b.consents(), access))
	health := httpserver.NewHealth(b.log, httpserver.Check{Name: "queue", Probe: b.gate.Check},
		httpserver.Check{Name: "cache", Probe: func(ctx context.Context) error { return b.sessions.Ping(ctx).Err() }})
	admin := httpserver.Admin(b.cfg.Admin, health, b.t.Registry)
	if b.store != nil {
		page, err := outbox.Handler(b.store, b.log)
		if err != nil {
			return fmt.Errorf("outbox page: %w", err)
		}
		admin.Handle("/outbox/", page)
	}
	b.group.OnDrain(health.Drain)
	b.group.OnDrain(server.Drain)
	b.group.Run("admin listener", func(ctx context.Context) error {
		return httpserver.Serve(ctx, b.cfg.Admin.Address(), admin)
	})
	b.group.Run("health", health.Run)
	b.group.Run("gRPC server", server.Run)
	return nil
}

func (b *builder) submitter() *submit.Submitter {
	validator := &task.Validator{Targets: b.targets, Known: b.providers.Known, Serves: b.serves}
	return submit.New(submit.Deps{Queue: b.gate, Validator: validator, IDs: b.ids, Clock: b.clock, Observer: b.metrics})
}

func (b *builder) manager() *manage.Manager {
	return manage.New(manage.Deps{Queue: b.gate, Archive: b.archive(), Shards: b.gate.Shards(), Lease: b.gate.Lease(), Clock: b.clock,
		Callbacks: func(id job.ID, body *job.Body, r *job.Record) ([]engine.NewJob, error) {
			return worker.Callbacks(b.ids, id, body, r)
		}})
}

// work adds what delivers.
func (b *builder) work() {
	if b.recorder != nil {
		b.group.Run("outbox recorder", b.recorder.Run)
	}
	b.group.Run("lane gauges", func(ctx context.Context) error {
		return lifecycle.Every(ctx, measureEvery, b.log, "measure lanes", func(ctx context.Context) error { return b.metrics.Measure(ctx, b.gate) })
	})
	deps := reaper.Deps{Queue: b.gate, Observer: b.metrics, Clock: b.clock, IDs: b.ids, Roll: random.Float64, Log: b.log}
	if a := b.archiver(); a != nil {
		deps.Keeper = a
		b.watchDatabase(b.db)
		b.group.Run("archiver", func(ctx context.Context) error {
			return lifecycle.Every(ctx, archiveEvery, b.log, "archive", a.RunOnce)
		})
	}
	r := reaper.New(reaper.Config{Every: reapEvery, KeepDead: time.Duration(b.cfg.Queue.DeadDays) * 24 * time.Hour, MaxDead: int64(b.cfg.Queue.DeadLimit),
		Resend: b.cfg.Queue.DoubtfulSends == doubtResend}, deps)
	b.group.Run("reaper", r.Run)
	auditor := audit.New(audit.Deps{Queue: b.gate, Observer: b.metrics, Clock: b.clock, Log: b.log})
	b.group.Run("auditor", func(ctx context.Context) error {
		return lifecycle.Every(ctx, auditEvery, b.log, "audit", auditor.RunOnce)
	})
	b.group.Run("pumps", b.pumps)
}

// pumps runs all pumps as one: at a stop their grace times run side by side.
func (b *builder) pumps(ctx context.Context) error {
	var all sync.WaitGroup
	for channel, handler := range b.handlers {
		for shard := range b.gate.Shards() {
			p := b.pump(channel, shard, handler)
			all.Go(func() { _ = p.Run(ctx) })
		}
	}
	all.Wait()
	return nil
}

func (b *builder) pump(channel job.Channel, shard int, handler worker.Handler) *worker.Pump {
	slots := b.cfg.Queue.MessageWorkers
	switch channel {
	case job.Webhook:
		slots = b.cfg.Queue.WebhookWorkers
	case job.Callback:
		slots = b.cfg.Queue.CallbackWorkers
	}
	return worker.New(worker.Config{Shard: shard, Channel: channel, Slots: max(1, slots/b.gate.Shards()), Lease: b.gate.Lease(), MaxRun: maxRun,
		Grace: time.Duration(b.cfg.Queue.GraceSeconds) * time.Second, Idle: engine.DefaultSettings().IdlePoll},
		worker.Deps{Queue: b.gate, Handler: handler, Observer: b.metrics, Clock: b.clock, IDs: b.ids, Roll: random.Float64, Log: b.log})
}

func (b *builder) tracers() trace.TracerProvider {
	if !b.t.Tracing {
		return nil
	}
	return b.t.Tracers
}
