package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/chunk"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/service"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/delivery"
	"github.com/labplatform/labplatform/services/externaledit/internal/grpcapi"
	"github.com/labplatform/labplatform/services/externaledit/internal/login"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/blob"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/objects"
	channels "github.com/labplatform/labplatform/services/externaledit/internal/store/redis"
	"github.com/labplatform/labplatform/services/externaledit/internal/token"
	"github.com/labplatform/labplatform/services/externaledit/migrations"
)

// Service describes the external edit process: its ports, its settings and how it is built and migrated.
var Service = service.Standard[Config, *Config]{
	Name: "externaledit", Prefix: "EXTERNAL_EDIT_", GRPCPort: 9002, AdminPort: 8002,
	Summary: "keeps the sessions in which reports are edited as Word documents, and every save of them",
	Build:   build, Migrate: migrate, Locks: mysql.Locks(),
	Codec: chunk.Codec(), // avoids copying uploads out of the transport's buffers
}

// retireEvery is the interval between deletions of saves that the retention no longer keeps.
const retireEvery = 10 * time.Minute

// parts are the stores and clients that the use cases depend on.
type parts struct {
	reports  *mysql.Store
	cache    redis.UniversalClient
	channels *channels.Channels
	files    *objects.Store
	tokens   *token.Tokens
	logins   *login.Logins
	counters *counters
}

func build(ctx context.Context, s *service.Service, cfg Config) error {
	cfg.Garbage.Hasten() // because uploads allocate large buffers for parts of files
	db, cache, err := s.Open(cfg.Stores, migrations.Schemas())
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
	users := s.Authenticator(cache)
	logins, err := login.New(users, cfg.TokenSecret)
	if err != nil {
		return err
	}
	p := parts{
		reports: reports, cache: cache, channels: channels.New(cache), files: objects.New(bucket,
			seconds(cfg.DownloadLinkSeconds)),
		tokens: token.New(cfg.TokenSecret, s.Clock), logins: logins, counters: newCounters(s.Registry),
	}
	s.Close("event subscription", func(context.Context) error { return p.channels.Close() })
	receivers := func(outbox.Table) map[string]outbox.Deliver { return delivery.Receivers(p.channels) }
	relay, err := s.Outbox(cfg.Outbox, db, mysql.OutboxTable, receivers)
	if err != nil {
		return err
	}
	s.LimitUploads(cfg.MaxUploads)
	s.OwnKeys(externaleditv1.ExternalEditService_CreateSession_FullMethodName)
	server, err := s.GRPC(grpcapi.Authenticator{Users: users, Tokens: p.tokens})
	if err != nil {
		return err
	}
	editor := newEditor(s, cfg, p, relay)
	externaleditv1.RegisterExternalEditServiceServer(server, newServer(s, cfg, p, relay, editor))
	if cfg.Blob.IsFolder() {
		s.Listen("files", httpserver.Server{Address: cfg.filesAddress(), Handler: bucket.Handler()})
	}
	s.Check("file_store", bucket.Ready)
	sweeper := newSweeper(s, cfg, p, editor)
	s.Every("sweeper", cfg.Sweep.Interval, sweeper.RunOnce)
	s.Every("retention", retireEvery, sweeper.RetireOnce)
	return nil
}

// migrate checks the platform's tables and creates or updates the service's tables.
func migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}
