package app

import (
	"context"
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

// Service describes the bill split process: its ports, its settings and how it is built and migrated.
var Service = service.Standard[Config, *Config]{
	Name: "billsplit", Prefix: "BILL_SPLIT_", GRPCPort: 9007, AdminPort: 8007,
	Summary: "moves billed tests of a bill to a new bill, exact to the paisa",
	Build:   build, Migrate: migrate,
}

// sweepInterval is the interval in which expired idempotency keys are deleted.
const sweepInterval = 10 * time.Minute

func build(_ context.Context, s *service.Service, cfg Config) error {
	db, cache, err := s.Open(cfg.Stores, migrations.Schemas())
	if err != nil {
		return err
	}
	store, err := mysql.New(db, s.Clock, cfg.guards())
	if err != nil {
		return err
	}
	api, err := newAPI(s, cfg, store)
	if err != nil {
		return err
	}
	s.OwnKeys(billsplitv1.BillSplitService_SplitBill_FullMethodName, billsplitv1.BillSplitService_MergeBill_FullMethodName)
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
	rules := split.Rules{
		VATPercent:       bill.PercentRule(cfg.VATPercent),
		RequireLabSwitch: cfg.LabSwitch == switchRequired,
	}
	return grpcapi.New(grpcapi.Deps{
		Splitter: split.New(split.Deps{
			Store: store, After: after, Clock: s.Clock, Log: s.Log, Observer: metrics, Rules: rules,
		}),
		Viewer: family.NewViewer(store, s.Clock, metrics, rules),
		Merger: family.NewMerger(store, after, s.Clock, metrics),
		Access: grpcapi.Access(cfg.Access),
		Clock:  s.Clock,
	}), nil
}

// newTasks returns the tasks after a commit. Without the address of change capture, there are none.
func newTasks(s *service.Service, cfg Config) (*delivery.Tasks, error) {
	queue := s.AfterCommit(delivery.Names()...)
	conn, err := s.Client(cfg.CDCAddr, "cdc")
	if err != nil {
		return nil, err
	}
	if conn == nil {
		return delivery.New(queue, nil), nil
	}
	return delivery.New(queue, cdcv1.NewChangeCaptureServiceClient(conn)), nil
}

// migrate checks the platform's tables and creates or updates the service's tables.
func migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{
		Legacy:  mysql.LegacyColumns(cfg.guards()),
		Indexes: mysql.LegacyIndexes(),
		Schemas: migrations.Schemas(),
	}
	return service.Migrate(ctx, cfg.DB, m, log)
}
