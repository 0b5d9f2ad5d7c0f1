package app

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/chunk"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/delivery"
	"github.com/labplatform/labplatform/services/externaledit/internal/grpcapi"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/objects"
	channels "github.com/labplatform/labplatform/services/externaledit/internal/store/redis"
	"github.com/labplatform/labplatform/services/externaledit/internal/token"
	"github.com/labplatform/labplatform/services/externaledit/migrations"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "externaledit"

// retireEvery is how often saves are looked for that are not kept any more.
const retireEvery = 10 * time.Minute

// Serve runs the service until ctx ends. Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	p := service.Process{
		Name: Name, Version: version, Config: cfg.Config, Prefix: Prefix, Settings: &cfg,
		Codec: chunk.Codec(), // uploads stay in the transport's buffers
	}
	return service.Run(ctx, p, logs, func(ctx context.Context, s *service.Service) error { return build(ctx, s, cfg) })
}

// parts are what the use cases stand on.
type parts struct {
	reports  *mysql.Store
	cache    redis.UniversalClient
	channels *channels.Channels
	files    *objects.Store
	tokens   *token.Tokens
	counters *counters
}

func build(ctx context.Context, s *service.Service, cfg Config) error {
	db, err := s.Database(cfg.DB)
	if err != nil {
		return err
	}
	cache, err := s.Cache(cfg.KV)
	if err != nil {
		return err
	}
	bucket, err := blob.Open(ctx, cfg.Blob, s.Clock)
	if err != nil {
		return err
	}
	s.Close("file store", func(context.Context) error { return bucket.Close() })
	reports, err := mysql.New(db, delivery.Encode, s.Clock)
	if err != nil {
		return err
	}
	p := parts{
		reports: reports, cache: cache, channels: channels.New(cache), files: objects.New(bucket,
			seconds(cfg.DownloadLinkSeconds)),
		tokens: token.New(cfg.TokenSecret, s.Clock), counters: newCounters(s.Registry),
	}
	s.Close("event subscription", func(context.Context) error { return p.channels.Close() })
	receivers := func(outbox.Table) map[string]outbox.Deliver { return delivery.Receivers(p.channels) }
	relay, err := s.Outbox(cfg.Outbox, db, mysql.OutboxTable, receivers)
	if err != nil {
		return err
	}
	if err := s.CheckDatabase("database", cfg.DB, migrations.Schemas()); err != nil {
		return err
	}
	server, err := s.GRPC(grpcapi.Authenticator{Users: s.Authenticator(cache), Tokens: p.tokens})
	if err != nil {
		return err
	}
	editor := newEditor(s, cfg, p, relay)
	externaleditv1.RegisterExternalEditServiceServer(server, newServer(s, cfg, p, relay, editor))
	if cfg.Blob.IsFolder() {
		s.Listen("files", httpserver.Server{Address: cfg.filesAddress(), Handler: bucket.Handler()})
	}
	s.Check("cache", service.Ping(cache))
	s.Check("file_store", bucket.Ready)
	sweeper := newSweeper(s, cfg, p, editor)
	s.Every("sweeper", cfg.Sweep.Interval, sweeper.RunOnce)
	s.Every("retention", retireEvery, sweeper.RetireOnce)
	return nil
}

// Migrate creates or updates the service's tables.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}

// Locks are those of the service's loops.
func Locks() []mysqldb.Lock { return mysql.Locks() }
