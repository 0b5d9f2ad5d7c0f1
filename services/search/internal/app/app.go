package app

import (
	"context"
	"io"
	"net/http"
	"runtime"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/app/health"
	"github.com/labplatform/labplatform/services/search/internal/authcount"
	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/find"
	"github.com/labplatform/labplatform/services/search/internal/freshness"
	"github.com/labplatform/labplatform/services/search/internal/grpcapi"
	"github.com/labplatform/labplatform/services/search/internal/limit"
	"github.com/labplatform/labplatform/services/search/internal/login"
	"github.com/labplatform/labplatform/services/search/internal/lookup"
	elasticstore "github.com/labplatform/labplatform/services/search/internal/store/elastic"
	"github.com/labplatform/labplatform/services/search/internal/store/mysql"
)

// Name is the service's name in logs and tokens.
const Name = "search"

// Serve runs the service until ctx ends. It logs to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	cfg.Garbage.Delay()
	runtime.GOMAXPROCS(cfg.processors(runtime.NumCPU()))
	p := service.Process{
		Name: Name, Version: version, Config: cfg.process(), Prefix: Prefix, Settings: &cfg,
		OwnHealth: true, // health and metrics are served on the documented REST port
	}
	return service.Run(ctx, p, logs, func(ctx context.Context, s *service.Service) error {
		return (&builder{Service: s, cfg: cfg}).build(ctx)
	})
}

// builder opens the parts of the service in the order of its fields.
type builder struct {
	*service.Service
	cfg Config

	tables *mysql.Store
	cache  redis.UniversalClient
	index  *elasticstore.Store
	limit  *limit.Limit
	fresh  *freshness.Watch
}

func (b *builder) build(ctx context.Context) error {
	for _, step := range []func() error{b.openStores, b.openIndex, b.openLimit, b.openAPI} {
		if err := step(); err != nil {
			return err
		}
	}
	return b.serve(ctx)
}

func (b *builder) openStores() error {
	db, err := b.Database(b.cfg.DB)
	if err != nil {
		return err
	}
	b.tables = mysql.New(db)
	b.openFreshness()
	if err := b.CheckDatabase(health.RelationalDatabase, b.cfg.DB, nil, "userDetails"); err != nil {
		return err
	}
	b.cache, err = b.Cache(b.cfg.KV)
	return err
}

func (b *builder) openAPI() error {
	server, err := b.GRPC(authcount.New(b.Authenticator(b.cache), b.Registry))
	if err != nil {
		return err
	}
	patients := detail.New(detail.Deps{Limiter: b.limit, Reader: b.tables, Audit: b.Audit})
	searchv1.RegisterSearchServiceServer(server, grpcapi.New(grpcapi.Deps{
		Finder: find.New(find.Deps{
			Limiter: b.limit, Index: b.index, Numbers: b.tables, DefaultSize: b.cfg.DefaultSize, Clock: b.Clock,
			Metrics: find.NewMetrics(b.Registry),
		}),
		Reader:  patients,
		Numbers: lookup.New(lookup.Deps{Limiter: b.limit, Reader: b.tables, Patients: patients, Index: b.index}),
		Logins:  login.New(b.tables),
		Clock:   b.Clock,
	}))
	return nil
}

func (b *builder) serve(ctx context.Context) error {
	area, err := b.area(ctx)
	if err != nil {
		return err
	}
	b.Check(health.SearchIndex, (&warmUp{index: b.index}).Ready)
	b.Check(health.KeyValueCache, service.Ping(b.cache))
	paths := http.NewServeMux()
	health.Register(paths, b.Health, b.fresh)
	rest := b.cfg.REST.handler(paths, httpserver.Metrics(b.Registry), area)
	process := b.cfg.process()
	b.Listen("REST listener", process.AdminServer(rest))
	return nil
}
