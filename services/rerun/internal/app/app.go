package app

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.opentelemetry.io/otel/trace"

	queue "github.com/labplatform/labplatform/pkg/aftercommit"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/grpcclient"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/mongodb"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/telemetry"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/aftercommit"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/grpcapi"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	openset "github.com/labplatform/labplatform/services/rerun/internal/store/redis"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

const service = "rerun"

// Serve runs the service until ctx ends. A dependency that is away makes it live and not ready; it is asked
// again until it answers. Logs go to logs.
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
	return group.Wait(ctx)
}

// builder opens things in the order of its fields; each is closed by the group.
type builder struct {
	cfg   Config
	t     *telemetry.Telemetry
	group *lifecycle.Group
	clock clock.Clock

	db        *sql.DB
	cache     redis.UniversalClient
	documents *driver.Database
	reports   *mysql.Store
	records   *mongo.Store
	openSet   *openset.OpenSet
	counters  *counters
	tokens    *authn.ServiceTokens
	relay     *outbox.Relay
	after     *queue.Queue
}

func (b *builder) build() error {
	for _, step := range []func() error{b.openStores, b.openClients, b.serve} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) openStores() (err error) {
	if b.db, err = mysqldb.Open(b.cfg.DB, b.tracers()); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	b.group.Close("database", func(context.Context) error { return b.db.Close() })
	if err = mysqldb.Metrics(b.t.Registry, b.db); err != nil {
		return fmt.Errorf("database metrics: %w", err)
	}
	if b.cache, err = redisdb.Open(b.cfg.KV, b.tracers()); err != nil {
		return fmt.Errorf("open cache: %w", err)
	}
	b.group.Close("cache", func(context.Context) error { return b.cache.Close() })
	if b.documents, err = mongodb.Open(b.cfg.Mongo); err != nil {
		return err
	}
	b.group.Close("document store", func(ctx context.Context) error { return mongodb.Close(ctx, b.documents) })
	if b.reports, err = mysql.New(b.db, b.clock); err != nil {
		return err
	}
	b.records, b.openSet = mongo.New(b.documents), openset.New(b.cache)
	if b.counters, err = newCounters(b.t.Registry); err != nil {
		return err
	}
	metrics, err := queue.NewMetrics(b.t.Registry, aftercommit.Names()...)
	b.after = queue.New(b.t.Logger, metrics)
	return err
}

func (b *builder) openClients() error {
	b.tokens = authn.NewServiceTokens(b.cfg.Auth.ServiceTokenSecret, service, b.clock)
	queue, err := grpcclient.Dial(b.cfg.TaskqueueAddr, "taskqueue", b.tokens, b.t)
	if err != nil {
		return fmt.Errorf("task queue client: %w", err)
	}
	b.group.Close("task queue client", func(context.Context) error { return queue.Close() })
	metrics, err := outbox.NewMetrics(b.t.Registry)
	if err != nil {
		return err
	}
	table, err := outbox.NewTable(mysql.OutboxTable)
	if err != nil {
		return err
	}
	callout, err := b.callout()
	if err != nil {
		return err
	}
	dispatcher := delivery.Dispatcher{Table: table.Name(), TaskQueue: taskqueuev1.NewTaskQueueServiceClient(queue),
		Callout: callout}
	b.relay = outbox.NewRelay(outbox.Deps{
		Config: b.cfg.Outbox, DB: b.db, Table: table, Receivers: dispatcher.Receivers(), Clock: b.clock, Jitter: rand.Float64,
		Log: b.t.Logger, Metrics: metrics,
	})
	return nil
}

// callout returns the client of the callout, nil where there is none.
func (b *builder) callout() (delivery.Callout, error) {
	if b.cfg.CalloutAddr == "" {
		return nil, nil
	}
	conn, err := grpcclient.Dial(b.cfg.CalloutAddr, "callout", b.tokens, b.t)
	if err != nil {
		return nil, fmt.Errorf("callout client: %w", err)
	}
	b.group.Close("callout client", func(context.Context) error { return conn.Close() })
	return calloutv1.NewCalloutServiceClient(conn), nil
}

// index returns the client of change capture, or one that does nothing.
func (b *builder) index() (delivery.Index, error) {
	if b.cfg.CDCAddr == "" {
		return delivery.Index{}, nil
	}
	conn, err := grpcclient.Dial(b.cfg.CDCAddr, "cdc", b.tokens, b.t)
	if err != nil {
		return delivery.Index{}, fmt.Errorf("change capture client: %w", err)
	}
	b.group.Close("change capture client", func(context.Context) error { return conn.Close() })
	return delivery.Index{Client: cdcv1.NewChangeCaptureServiceClient(conn)}, nil
}

func (b *builder) server() (*grpcapi.Server, error) {
	index, err := b.index()
	if err != nil {
		return nil, err
	}
	after := aftercommit.New(aftercommit.Deps{
		Queue: b.after, Flags: b.reports, OpenSet: b.openSet, Documents: b.records, Index: index,
	})
	return grpcapi.New(grpcapi.Deps{
		DocumentStore: b.cfg.DocumentStore,
		Requester: request.New(request.Deps{
			Reports: mysql.Requests{Store: b.reports}, Records: b.records, AfterCommit: after, Clock: b.clock,
			NewID: newID, Log: b.t.Logger, Counters: b.counters,
		}),
		Evaluator: autorerun.New(autorerun.Deps{
			Subjects: b.reports, Records: b.records, Orders: delivery.Orders{BaseURL: b.cfg.WebhookURL, Outbox: b.reports},
			WakeRelay: b.relay.Wake, Log: b.t.Logger, Counters: b.counters,
		}),
		Lister: listing.New(b.reports, b.records),
		Receiver: receive.New(receive.Deps{
			Reports: mysql.Receipts{Store: b.reports}, Records: b.records, Values: b.records, AfterCommit: after, Clock: b.clock,
			NewID: newID, Counters: b.counters,
		}),
		Closer: closing.New(closing.Deps{
			Reports: mysql.Closings{Store: b.reports}, Documents: b.records, Messages: delivery.Evaluations{},
			WakeRelay:   b.relay.Wake,
			AfterCommit: after, Clock: b.clock, Counters: b.counters,
		}),
	}), nil
}

// newID returns an id for a document.
func newID() string { return bson.NewObjectID().Hex() }

// sweeper returns the loop that repairs what a crash left.
func (b *builder) sweeper() *sweep.Sweeper {
	return sweep.New(sweep.Deps{
		Config: b.cfg.Sweep, Leader: b.reports, Reports: mysql.Sweeps{Store: b.reports}, Documents: b.records,
		OpenSet: b.openSet, Clock: b.clock, Log: b.t.Logger, Counters: b.counters,
	})
}

func (b *builder) serve() error {
	api, err := b.server()
	if err != nil {
		return err
	}
	auth := authn.NewAuthenticator(b.cfg.Auth, authn.NewRedisSessions(b.cache), service, b.clock)
	server, err := grpcserver.New(b.cfg.GRPC, grpcserver.Deps{Telemetry: b.t, Authenticator: auth})
	if err != nil {
		return fmt.Errorf("gRPC server: %w", err)
	}
	rerunv1.RegisterRerunServiceServer(server, api)
	health := httpserver.NewHealth(b.t.Logger, b.checks()...)
	admin := httpserver.Admin(b.cfg.Admin, health, b.t.Registry)
	b.group.OnDrain(health.Drain)
	b.group.OnDrain(server.Drain)
	b.group.Run("admin listener", func(ctx context.Context) error {
		return httpserver.Serve(ctx, b.cfg.Admin.Address(), admin)
	})
	b.group.Run("health", health.Run)
	b.group.Run("work after commits", b.after.Run) // before the server: it stops after the server's last call
	b.group.Run("gRPC server", server.Run)
	b.group.Run("outbox relay", b.relay.Run)
	if b.cfg.DocumentStore {
		b.group.Run("sweeper", b.sweeper().Run)
	}
	return nil
}

func (b *builder) checks() []httpserver.Check {
	checks := []httpserver.Check{
		{Name: "database", Probe: b.reports.Ready},
		{Name: "cache", Probe: func(ctx context.Context) error { return b.cache.Ping(ctx).Err() }},
	}
	if b.cfg.DocumentStore {
		checks = append(checks, httpserver.Check{Name: "document_store", Probe: b.records.Ready})
	}
	return checks
}

func (b *builder) tracers() trace.TracerProvider {
	if !b.t.Tracing {
		return nil
	}
	return b.t.Tracers
}
