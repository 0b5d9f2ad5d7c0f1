package app

import (
	"context"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/service"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/grpcapi"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "taskqueue"

// Serve runs the service until ctx ends. While Redis is unavailable or unsuitable, the service is live but not ready,
// and keeps checking Redis. Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	p := service.Process{Name: Name, Version: version, Config: cfg.Config, Prefix: Prefix, Settings: &cfg}
	return service.Run(ctx, p, logs, func(_ context.Context, s *service.Service) error {
		return (&builder{Service: s, cfg: cfg}).build()
	})
}

// builder opens the parts of the process.
type builder struct {
	*service.Service
	cfg Config

	secrets   provider.Directory
	seals     *seal.Ring // nil: payloads are not encrypted
	sessions  redis.UniversalClient
	client    redis.UniversalClient
	db        *mysql.Store // nil: switched off
	gate      *engine.Gate
	redisTime *engine.Clock // Redis' time; signatures and certificates use the local time
	pauses    *operate.Pauses
	bytes     *quota.Bytes
	ids       *job.Generator
	metrics   *metrics.Metrics
	public    netguard.Config // for requests to addresses from tasks and rows
	targets   *webhook.Targets
	mailbox   *mailbox.Store // nil: switched off
	handlers  map[job.Channel]worker.Handler
	providers *route.Set
	circuits  *circuit.Circuits
	pacer     *pace.Pacer
	server    *grpcapi.Server
	keeper    *janitor.Archive // nil without a database
}

func (b *builder) build() error {
	for _, step := range []func() error{b.openSecrets, b.openStores, b.openDatabase, b.openEngine, b.openTargets,
		b.openMailbox, b.openHandlers, b.openServer, b.useDatabase, b.openAdminPage, b.serve} {
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

// openServer makes the gRPC server, which also works without a database.
func (b *builder) openServer() error {
	checks := submit.Checks{Targets: b.targets, Known: b.providers.Known, Serves: b.serves, Clock: b.redisTime,
		Country: b.cfg.country(), Mailbox: b.cfg.OutboxEnabled()}
	b.server = &grpcapi.Server{Access: b.cfg.Access, Send: b.cfg.SendPermission, Unserved: b.unserved,
		PausedLabs: b.pauses.Labs,
		Tasks: &submit.Acceptor{
			Checks: checks, Queue: b.gate, IDs: b.ids, Observer: b.metrics, Seals: b.seals, Bytes: b.bytes,
		},
		Jobs: &manage.Jobs{Queue: b.gate, Lease: b.gate.Lease(), Clock: b.redisTime, IDs: b.ids}}
	return nil
}

func (b *builder) serve() error {
	b.OwnKeys(taskqueuev1.TaskQueueService_Enqueue_FullMethodName, taskqueuev1.TaskQueueService_Schedule_FullMethodName)
	server, err := b.GRPC(b.Authenticator(b.sessions), grpcapi.AnonymousMethods(b.cfg.Access)...)
	if err != nil {
		return err
	}
	taskqueuev1.RegisterTaskQueueServiceServer(server, b.server)
	b.Check("queue", b.gate.Check)
	b.Check("cache", service.Ping(b.sessions))
	return nil
}
