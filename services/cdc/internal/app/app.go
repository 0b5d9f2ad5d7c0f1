package app

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/telemetry"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/connect"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/deadletter"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/grpcapi"
	"github.com/labplatform/labplatform/services/cdc/internal/health"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/purge"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	elasticstore "github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

const (
	service = "cdc"

	superviseEvery = 2 * time.Second
	sweepEvery     = 10 * time.Minute
	keepWindows    = time.Hour
	sweepLimit     = 10_000
	purgeEvery     = time.Hour
	walkEvery      = 5 * time.Second
	walkChunk      = 500
	lateEvery      = time.Second
)

// Serve runs the service until ctx ends. A dependency that is away makes it live and not ready; it is asked again until it answers.
// Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	t, err := telemetry.Start(ctx, service, version, cfg.Telemetry, logs)
	if err != nil {
		return fmt.Errorf("start telemetry: %w", err)
	}
	group := lifecycle.New(cfg.Lifecycle, t.Logger)
	group.Close("telemetry", t.Shutdown)
	b := &builder{cfg: cfg, t: t, group: group, clock: clock.System{}}
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
	group *lifecycle.Group
	clock clock.Clock

	counters *counters
	db       *sql.DB
	phases   *phase.Watch
	rows     *mysql.Store
	users    *materialize.Recomputer
	walker   *materialize.Walker
	late     *materialize.Postponed
	index    *elasticstore.Store
	writer   *indexsync.Writer
	letters  *deadletter.Letters
	consumer *consume.Consumer
	members  *broker.Group
	stores   *httpserver.Health
}

func (b *builder) build() (err error) {
	if b.counters, err = newCounters(b.t.Registry); err != nil {
		return err
	}
	for _, step := range []func() error{b.openDatabase, b.openIndex, b.openConsumer, b.openSupervisor, b.openReconciler, b.openPurger, b.serve} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) openDatabase() (err error) {
	if b.db, err = mysqldb.Open(b.cfg.DB, b.tracers()); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	b.group.Close("database", func(context.Context) error { return b.db.Close() })
	if err = mysqldb.Metrics(b.t.Registry, b.db); err != nil {
		return fmt.Errorf("database metrics: %w", err)
	}
	b.phases = phase.New(phase.Deps{Schema: mysql.NewSchema(b.db), Walk: walk{b}, Override: phase.Phase(b.cfg.PhaseOverride),
		Interval: phase.DefaultInterval, Log: b.t.Logger})
	b.rows = mysql.New(mysql.Deps{DB: b.db, Clock: b.clock, Phases: b.phases})
	b.late = materialize.NewPostponed(b.clock)
	b.users = materialize.NewRecomputer(materialize.Deps{Store: b.rows, Late: b.late, Observer: b.counters, Config: materialize.DefaultConfig()})
	b.walker = materialize.NewWalker(materialize.WalkerDeps{Walks: b.rows, Phases: b.phases, Users: b.users, Chunk: walkChunk, Interval: walkEvery,
		Log: b.t.Logger})
	b.group.Run("phase", b.phases.Run)
	b.group.Run("walker", b.walker.Run)
	b.group.Run("late patients", func(ctx context.Context) error {
		return lifecycle.Every(ctx, lateEvery, b.t.Logger, "late patients", func(ctx context.Context) error { return b.late.RunOnce(ctx, b.users) })
	})
	return nil
}

func (b *builder) openIndex() error {
	client, err := elastic.Open(b.cfg.ES, elastic.Deps{Tracers: b.tracers(), Roll: rand.Float64})
	if err != nil {
		return fmt.Errorf("open search index: %w", err)
	}
	b.group.Close("search index", func(context.Context) error { return client.Close() })
	b.index = elasticstore.New(client, b.cfg.Index)
	b.writer = indexsync.NewWriter(indexsync.WriterDeps{Config: b.cfg.Bulk, Index: b.index, Observer: b.counters, Clock: b.clock, Jitter: rand.Float64})
	return nil
}

// syncer returns the sink that writes the index.
func (b *builder) syncer() *indexsync.Sink {
	return indexsync.NewSink(indexsync.Deps{Lookup: b.index, Writer: b.writer, Phases: b.phases, Tables: b.walker, Versions: document.RevVersions{}, Clock: b.clock})
}

// openReconciler adds the continuous proof that index, projection and sources agree.
func (b *builder) openReconciler() error {
	if b.cfg.ReconcileEvery == 0 {
		return nil
	}
	loop := &reconcile.Loop{Observer: b.counters, Reconciler: reconcile.New(reconcile.Deps{Rows: b.rows, Scope: mysql.Laboratory,
		Documents: b.index, Users: b.users, Writer: b.writer, Target: b.index.Live(), Versions: document.RevVersions{}, Config: reconcile.DefaultConfig()})}
	b.group.Run("reconciler", func(ctx context.Context) error {
		return lifecycle.Every(ctx, b.cfg.ReconcileEvery, b.t.Logger, "reconcile", func(ctx context.Context) error {
			_, err := mysqldb.Lead(ctx, b.db, "reconcile", func(ctx context.Context, _ *sql.Conn) error { return loop.RunOnce(ctx) })
			return err //nolint:wrapcheck // said by the loop's name
		})
	})
	return nil
}

// walk lends the store to the phase, which the store itself needs.
type walk struct{ b *builder }

// Restart implements phase.Walk.
func (w walk) Restart(ctx context.Context) error { return w.b.rows.Restart(ctx) } //nolint:wrapcheck // a fault already

// openConsumer adds the consumer before what it stands on is closed and after what it feeds is there.
func (b *builder) openConsumer() error {
	producer := broker.NewProducer(b.cfg.Kafka)
	b.group.Close("dead letters", producer.Close)
	b.letters = &deadletter.Letters{Producer: producer, Clock: b.clock, Records: broker.DeadLetters, Connectors: broker.ConnectorDeadLetters,
		Group: broker.GroupID}
	rows := materialize.NewSink(b.users, b.walker, b.clock)
	beats := &heartbeat.Sink{Progress: progress{b.rows}, Clock: b.clock}
	b.consumer = consume.New(consume.Deps{Config: b.cfg.Consume, DeadLetters: b.letters, Observer: b.counters, Clock: b.clock, Jitter: rand.Float64,
		Log: b.t.Logger, Sinks: map[string]consume.Sink{change.UserDetails: rows, change.Billing: rows, change.LabReportRelation: rows,
			change.UserMeta: b.syncer(), change.Heartbeat: beats}})
	beats.Oldest = func() (time.Time, bool) { return b.consumer.Status().Oldest(b.cfg.Topics.Topic(change.Heartbeat)) }
	b.members = broker.NewGroup(b.cfg.Kafka, b.cfg.Topics.Consumed(), b.consumer, b.clock, b.t.Logger)
	if err := b.t.Registry.Register(newGauges(b.members, b.consumer.Status(), b.clock)); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	b.group.Run("consumer", b.members.Run)
	return nil
}

// progress lends the store to the heartbeats.
type progress struct{ rows *mysql.Store }

// Beat implements heartbeat.Progress.
func (p progress) Beat(ctx context.Context, connector string, beatAt, appliedAt time.Time) error {
	return p.rows.Applied(ctx, mysql.Beat{Connector: connector, BeatAt: beatAt, AppliedAt: appliedAt}) //nolint:wrapcheck // a fault already
}

// openPurger adds the end of stubs that no event can come back against any more.
func (b *builder) openPurger() error {
	p := &purge.Purger{Stubs: b.index, Writer: b.writer, Versions: document.RevVersions{}, Clock: b.clock, Observer: b.counters, Config: b.cfg.Purge}
	b.group.Run("purge", func(ctx context.Context) error {
		return lifecycle.Every(ctx, purgeEvery, b.t.Logger, "purge stubs", func(ctx context.Context) error {
			_, err := mysqldb.Lead(ctx, b.db, "purge", func(ctx context.Context, _ *sql.Conn) error { return p.RunOnce(ctx) })
			return err //nolint:wrapcheck // said by the loop's name
		})
	})
	return nil
}

func (b *builder) openSupervisor() error {
	runtime := connect.New(connect.Config{URL: b.cfg.Connect.URL})
	wanted, err := b.cfg.connectors()
	if err != nil {
		return err
	}
	if b.cfg.Connect.Apply == applyAtStart {
		applier := &supervise.Applier{Runtime: runtime, Wanted: wanted, Order: connectors.Names(), Log: b.t.Logger}
		b.group.Run("connector configurations", applier.Run)
	}
	s := supervise.New(supervise.Deps{Runtime: runtime, Failures: b.letters, Observer: b.counters, Clock: b.clock, Log: b.t.Logger,
		Connectors: connectors.Names()})
	b.group.Run("supervisor", func(ctx context.Context) error {
		return lifecycle.Every(ctx, superviseEvery, b.t.Logger, "supervise connectors", func(ctx context.Context) error { return b.supervise(ctx, s) })
	})
	b.group.Run("signal sweeper", func(ctx context.Context) error {
		return lifecycle.Every(ctx, sweepEvery, b.t.Logger, "sweep signals", func(ctx context.Context) error {
			_, err := b.rows.SweepWindows(ctx, b.clock.Now().Add(-keepWindows), sweepLimit)
			return err //nolint:wrapcheck // said by the loop's name
		})
	})
	return nil
}

// supervise lets one process act; the others only look.
func (b *builder) supervise(ctx context.Context, s *supervise.Supervisor) error {
	led, err := mysqldb.Lead(ctx, b.db, "supervise_connectors", func(ctx context.Context, _ *sql.Conn) error { return s.RunOnce(ctx) })
	if led || err != nil {
		return err //nolint:wrapcheck // said by the loop's name
	}
	return s.Observe(ctx) //nolint:wrapcheck // said by the loop's name
}

// connectors returns the configurations of both connectors.
func (c Config) connectors() (map[string]map[string]string, error) {
	return connectors.Source{DatabaseHost: c.Connect.DBHost, DatabasePort: strconv.Itoa(c.Connect.DBPort), DatabaseUser: c.Connect.User,
		DatabasePassword: c.Connect.Password.Reveal(), Database: c.DB.Database, TopicPrefix: c.Topics.Server(), Brokers: c.Connect.Brokers,
		Replication: int(c.Topics.Replication), MinInSync: c.Topics.MinInSync, HeartbeatMS: int(c.Connect.Heartbeat.Milliseconds())}.Configurations() //nolint:wrapcheck // names the connector
}

func (b *builder) serve() error {
	auth := authn.NewAuthenticator(b.cfg.Auth, noSessions{}, service, b.clock)
	server, err := grpcserver.New(b.cfg.GRPC, grpcserver.Deps{Telemetry: b.t, Authenticator: auth})
	if err != nil {
		return fmt.Errorf("gRPC server: %w", err)
	}
	cdcv1.RegisterChangeCaptureServiceServer(server, grpcapi.New(materialize.Forced{Users: b.users, Members: b.rows}))
	b.stores = httpserver.NewHealth(b.t.Logger, b.checks()...)
	mux := http.NewServeMux()
	judge := &health.Health{Group: b.members, Status: b.consumer.Status(), Stores: b.stores, Clock: b.clock, Phase: b.phase}
	judge.Handle(mux)
	mux.Handle("GET /metrics", promhttp.HandlerFor(b.t.Registry, promhttp.HandlerOpts{Registry: b.t.Registry}))
	b.cfg.Admin.Profiles(mux)
	b.group.OnDrain(b.stores.Drain)
	b.group.OnDrain(server.Drain)
	b.group.Run("health server", func(ctx context.Context) error { return httpserver.Serve(ctx, b.cfg.Admin.Address(), mux) })
	b.group.Run("stores", b.stores.Run)
	b.group.Run("gRPC server", server.Run)
	return nil
}

// phase returns the phase for the health page, "unknown" while the database has not been asked.
func (b *builder) phase(ctx context.Context) string {
	now, err := b.phases.Phase(ctx)
	if err != nil {
		return "unknown"
	}
	return string(now)
}

func (b *builder) checks() []httpserver.Check {
	return []httpserver.Check{
		{Name: "relational_database", Probe: b.rows.Ready},
		{Name: "search_index", Probe: func(ctx context.Context) error {
			_, err := b.index.Targets(ctx)
			return err //nolint:wrapcheck // says what is wrong
		}},
	}
}

// noSessions has no users: only the platform's services call.
type noSessions struct{}

// Session implements authn.SessionStore.
func (noSessions) Session(context.Context, string) ([]byte, error) { return nil, nil }

func (b *builder) tracers() trace.TracerProvider {
	if !b.t.Tracing {
		return nil
	}
	return b.t.Tracers
}
