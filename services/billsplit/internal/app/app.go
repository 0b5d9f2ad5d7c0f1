package app

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/service"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/delivery"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/grpcapi"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/billsplit/migrations"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "billsplit"

// sweepInterval is how often expired idempotency keys are deleted.
const sweepInterval = 10 * time.Minute

// Serve runs the service until ctx ends. Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	p := service.Process{Name: Name, Version: version, Config: cfg.Config, Prefix: Prefix, Settings: &cfg}
	return service.Run(ctx, p, logs, func(_ context.Context, s *service.Service) error { return build(s, cfg) })
}

func build(s *service.Service, cfg Config) error {
	db, err := s.Database(cfg.DB)
	if err != nil {
		return err
	}
	if err := s.CheckDatabase("database", cfg.DB, migrations.Schemas()); err != nil {
		return err
	}
	cache, err := s.Cache(cfg.KV)
	if err != nil {
		return err
	}
	s.Check("cache", service.Ping(cache))
	store, err := mysql.New(db, s.Clock, cfg.guards())
	if err != nil {
		return err
	}
	api, err := newAPI(s, cfg, store)
	if err != nil {
		return err
	}
	server, err := s.GRPC(s.Authenticator(cache))
	if err != nil {
		return err
	}
	billsplitv1.RegisterBillSplitServiceServer(server, api)
	s.Every("idempotency sweep", sweepInterval, store.Sweep)
	return nil
}

func newAPI(s *service.Service, cfg Config, store *mysql.Store) (*grpcapi.Server, error) {
	metrics := newMetrics(s.Registry)
	after, err := newTasks(s, cfg)
	if err != nil {
		return nil, err
	}
	return grpcapi.New(grpcapi.Deps{
		Splitter: split.New(split.Deps{
			Store: store, After: after, Clock: s.Clock, Log: s.Log, Observer: metrics,
			Rules: split.Rules{
				VATPercent:       bill.PercentRule(cfg.VATPercent),
				RequireLabSwitch: cfg.LabSwitch == switchRequired,
			},
		}),
		Viewer: family.NewViewer(store, s.Clock, metrics),
		Merger: family.NewMerger(store, after, s.Clock, metrics),
		Access: grpcapi.Access(cfg.Access),
	}), nil
}

// newTasks returns what follows a commit. Without change capture that is nothing.
func newTasks(s *service.Service, cfg Config) (*delivery.Tasks, error) {
	queue := s.AfterCommit(delivery.Names()...)
	if cfg.CDCAddr == "" {
		return delivery.New(queue, nil), nil
	}
	conn, err := s.Client(cfg.CDCAddr, "cdc")
	if err != nil {
		return nil, err
	}
	return delivery.New(queue, cdcv1.NewChangeCaptureServiceClient(conn)), nil
}

// Migrate creates or updates the service's tables.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{
		Legacy:  mysql.LegacyColumns(cfg.guards()),
		Indexes: mysql.LegacyIndexes(),
		Schemas: migrations.Schemas(),
	}
	return service.Migrate(ctx, cfg.DB, m, log)
}
