package app

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"time"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	"github.com/labplatform/labplatform/services/cdc/internal/app/health"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/deadletter"
	"github.com/labplatform/labplatform/services/cdc/internal/grpcapi"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	elasticstore "github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "cdc"

// Serve runs the service until ctx ends. It logs to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	p := service.Process{
		Name: Name, Version: version, Config: cfg.Config, Prefix: Prefix, Settings: &cfg,
		OwnHealth: true, // the API document defines the consumer's health paths
	}
	return service.Run(ctx, p, logs, func(_ context.Context, s *service.Service) error {
		return (&builder{Service: s, cfg: cfg}).build()
	})
}

// builder starts the parts of the service and holds their shared dependencies.
type builder struct {
	*service.Service
	cfg Config

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
}

func (b *builder) build() error {
	b.counters = newCounters(b.Registry)
	for _, step := range []func() error{
		b.openDatabase, b.openIndex, b.openConsumer, b.openSupervisor, b.openReconciler, b.openPurger, b.serve,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) serve() error {
	server, err := b.GRPC(b.ServicesOnly())
	if err != nil {
		return err
	}
	cdcv1.RegisterChangeCaptureServiceServer(server, grpcapi.New(materialize.Forced{Users: b.users, Members: b.rows}))
	b.Check("search_index", func(ctx context.Context) error {
		_, err := b.index.Targets(ctx)
		return err
	})
	mux := http.NewServeMux()
	judge := &health.Health{
		Group:  b.members,
		Status: b.consumer.Status(),
		Stores: b.Health,
		Clock:  b.Clock,
		Phase:  b.phase,
	}
	judge.Handle(mux)
	mux.Handle("GET /metrics", httpserver.Metrics(b.Registry))
	b.cfg.Admin.Profiles(mux)
	b.Listen("health server", b.cfg.AdminServer(mux))
	return nil
}

// phaseTimeout is shorter than a probe's timeout.
const phaseTimeout = time.Second

// phase returns the phase for the health page, or "unknown" if the database does not respond.
func (b *builder) phase(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	now, err := b.phases.Phase(ctx)
	if err != nil {
		return "unknown"
	}
	return string(now)
}
