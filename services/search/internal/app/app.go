package app

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/telemetry"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/authcount"
	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/find"
	"github.com/labplatform/labplatform/services/search/internal/freshness"
	"github.com/labplatform/labplatform/services/search/internal/grpcapi"
	"github.com/labplatform/labplatform/services/search/internal/health"
	"github.com/labplatform/labplatform/services/search/internal/limit"
	elasticstore "github.com/labplatform/labplatform/services/search/internal/store/elastic"
	"github.com/labplatform/labplatform/services/search/internal/store/mysql"
	modes "github.com/labplatform/labplatform/services/search/internal/store/redis"
)

const service = "search"

// Serve runs the service until ctx ends. A dependency that is away makes it live and not ready; it is asked again until it answers.
// Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	runtime.GOMAXPROCS(min(cfg.WorkersCount, runtime.NumCPU()))
	t, err := telemetry.Start(ctx, service, version, cfg.Telemetry, logs)
	if err != nil {
		return fmt.Errorf("start telemetry: %w", err)
	}
	group := lifecycle.New(cfg.Lifecycle, t.Logger)
	group.Close("telemetry", t.Shutdown)
	b := &builder{cfg: cfg, t: t, group: group, clock: clock.System{}}
	if err := b.build(ctx); err != nil {
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

	db      *sql.DB
	tables  *mysql.Store
	cache   redis.UniversalClient
	index   *elasticstore.Store
	limit   *limit.Limit
	fresh   *freshness.Watch
	service *grpcserver.Server
}

func (b *builder) build(ctx context.Context) error {
	for _, step := range []func() error{b.openStores, b.openIndex, b.openLimit, b.openFreshness, b.openService} {
		if err := step(); err != nil {
			return err
		}
	}
	return b.serve(ctx)
}

func (b *builder) openStores() (err error) {
	if b.db, err = mysqldb.Open(b.cfg.DB, b.tracers()); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	b.group.Close("database", func(context.Context) error { return b.db.Close() })
	if err = mysqldb.Metrics(b.t.Registry, b.db); err != nil {
		return fmt.Errorf("database metrics: %w", err)
	}
	b.tables = mysql.New(b.db)
	if b.cache, err = redisdb.Open(b.cfg.KV, b.tracers()); err != nil {
		return fmt.Errorf("open cache: %w", err)
	}
	b.group.Close("cache", func(context.Context) error { return b.cache.Close() })
	return nil
}

func (b *builder) openIndex() error {
	client, err := elastic.Open(b.cfg.ES, elastic.Deps{Tracers: b.tracers(), CaptureSearches: b.cfg.CaptureSearchQuery, Roll: rand.Float64})
	if err != nil {
		return fmt.Errorf("open search index: %w", err)
	}
	b.group.Close("search index", func(context.Context) error { return client.Close() })
	b.index = elasticstore.New(client, b.cfg.Index, b.clock)
	return nil
}

// openLimit counts searches in the cache of the sessions; the mode may be kept in another one.
func (b *builder) openLimit() error {
	metrics, err := limit.NewMetrics(b.t.Registry)
	if err != nil {
		return fmt.Errorf("rate limit metrics: %w", err)
	}
	reader, err := b.modes()
	if err != nil {
		return err
	}
	watch := limit.NewWatch(limit.WatchDeps{
		Reader: reader, Every: time.Duration(b.cfg.Limit.ConfigCacheTTL) * time.Second, Clock: b.clock, Log: b.t.Logger, Metrics: metrics,
	})
	b.group.Run("rate limit mode", watch.Run)
	counter := limit.NewCounter(ratelimit.New(b.cache, limit.KeyPrefix), metrics, b.t.Logger, b.clock)
	b.limit = limit.New(limit.Deps{Config: b.cfg.Limit, Counter: counter, Watch: watch, Metrics: metrics})
	return nil
}

// modes returns what reads the mode, nil when no cache is named for it.
func (b *builder) modes() (limit.Reader, error) {
	if !b.cfg.Limit.KVURL.IsSet() {
		return nil, nil //nolint:nilnil // no reader: the mode is always normal
	}
	client, err := redisdb.OpenURL(b.cfg.Limit.KVURL)
	if err != nil {
		return nil, fmt.Errorf("open cache of the rate limit's mode: %w", err)
	}
	b.group.Close("cache of the rate limit's mode", func(context.Context) error { return client.Close() })
	return modes.NewModes(client), nil
}

func (b *builder) openFreshness() error {
	b.fresh = freshness.New(freshness.Deps{Config: b.cfg.Freshness, Beats: b.tables, Clock: b.clock, Log: b.t.Logger})
	b.group.Run("freshness", b.fresh.Run)
	if err := b.t.Registry.Register(b.fresh.Collector()); err != nil {
		return fmt.Errorf("freshness metrics: %w", err)
	}
	return nil
}

func (b *builder) openService() error {
	auth, err := authcount.New(authn.NewAuthenticator(b.cfg.Auth, authn.NewRedisSessions(b.cache), service, b.clock), b.t.Registry)
	if err != nil {
		return fmt.Errorf("credential metrics: %w", err)
	}
	if b.service, err = grpcserver.New(b.cfg.GRPC, grpcserver.Deps{Telemetry: b.t, Authenticator: auth}); err != nil {
		return fmt.Errorf("gRPC server: %w", err)
	}
	metrics, err := find.NewMetrics(b.t.Registry)
	if err != nil {
		return fmt.Errorf("search metrics: %w", err)
	}
	searchv1.RegisterSearchServiceServer(b.service, grpcapi.New(
		find.New(find.Deps{Limiter: b.limit, Index: b.index, DefaultSize: b.cfg.DefaultSize, Clock: b.clock, Metrics: metrics}),
		detail.New(detail.Deps{Reader: b.tables, Audit: b.t.Audit}),
	))
	return nil
}

func (b *builder) serve(ctx context.Context) error {
	area, err := b.area(ctx)
	if err != nil {
		return err
	}
	dependencies := httpserver.NewHealth(b.t.Logger,
		httpserver.Check{Name: health.SearchIndex, Probe: b.index.Ready},
		httpserver.Check{Name: health.KeyValueCache, Probe: func(ctx context.Context) error { return b.cache.Ping(ctx).Err() }},
		httpserver.Check{Name: health.RelationalDatabase, Probe: b.tables.Ready},
	)
	paths := http.NewServeMux()
	health.Register(paths, dependencies, b.fresh)
	rest := b.cfg.REST.handler(paths, promhttp.HandlerFor(b.t.Registry, promhttp.HandlerOpts{}), area)
	b.group.OnDrain(dependencies.Drain)
	b.group.OnDrain(b.service.Drain)
	b.group.Run("health", dependencies.Run)
	b.group.Run("gRPC server", b.service.Run)
	b.group.Run("REST listener", func(ctx context.Context) error { return httpserver.Serve(ctx, b.cfg.REST.address(), rest) })
	return nil
}

func (b *builder) tracers() trace.TracerProvider {
	if !b.t.Tracing {
		return nil
	}
	return b.t.Tracers
}
