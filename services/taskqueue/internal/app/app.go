package app

import (
	"context"
	"database/sql"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/service"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "taskqueue"

// Serve runs the service until ctx ends. A Redis that is away or not fit makes it live and not ready; it is asked
// again until it is. Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	p := service.Process{Name: Name, Version: version, Config: cfg.Config, Prefix: Prefix, Settings: &cfg}
	return service.Run(ctx, p, logs, func(_ context.Context, s *service.Service) error {
		return (&builder{Service: s, cfg: cfg}).build()
	})
}

// builder opens things in the order of its fields.
type builder struct {
	*service.Service
	cfg Config

	sessions  redis.UniversalClient
	db        *sql.DB // nil: switched off
	client    redis.UniversalClient
	gate      *engine.Gate
	ids       *job.Generator
	metrics   *metrics.Metrics
	targets   *webhook.Targets
	store     *mailbox.Store
	public    netguard.Config // of clients for addresses that others wrote
	handlers  map[job.Channel]worker.Handler
	providers *route.Set
	webhooks  *webhook.Sender
	circuits  *circuit.Circuits
	pacer     *pace.Pacer
	secrets   provider.Directory
	bytes     *quota.Bytes
	pauses    *operate.Pauses
	senders   *sender.Senders // nil: any may be named
	seals     *seal.Ring      // nil: payloads are stored as they are
}

func (b *builder) build() error {
	for _, step := range []func() error{b.openSecrets, b.openStores, b.openDatabase, b.openEngine,
		b.openTargets, b.openMailbox, b.openHandlers, b.openDatabaseHandlers, b.openAdminPage, b.serve} {
		if err := step(); err != nil {
			return err
		}
	}
	b.work()
	return nil
}

const poolSize = 96

func (b *builder) openStores() (err error) {
	if b.sessions, err = b.Cache(b.cfg.KV); err != nil {
		return err
	}
	options := b.cfg.redis()
	options.PoolSize = poolSize
	b.client = redis.NewUniversalClient(options)
	b.Close("queue", func(context.Context) error { return b.client.Close() })
	redisdb.Trace(b.client, b.Tracers())
	return nil
}

func (b *builder) serve() error {
	access := api.Access(b.cfg.Access)
	server, err := b.GRPC(b.Authenticator(b.sessions), api.AnonymousMethods(access)...)
	if err != nil {
		return err
	}
	taskqueuev1.RegisterTaskQueueServiceServer(server, &api.Server{Tasks: b.acceptor(), Jobs: b.jobs(),
		Consents: b.consents(), Access: access, Send: b.cfg.SendPermission})
	b.Check("queue", b.gate.Check)
	b.Check("cache", service.Ping(b.sessions))
	if b.store == nil {
		return nil
	}
	page, err := mailbox.Handler(b.store)
	if err != nil {
		return fmt.Errorf("mailbox page: %w", err)
	}
	b.AdminPage("/outbox/", page)
	return nil
}
