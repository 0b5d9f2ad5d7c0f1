package app

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/service"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	openset "github.com/labplatform/labplatform/services/rerun/internal/store/redis"
	"github.com/labplatform/labplatform/services/rerun/migrations"
)

// Service describes the rerun process: its ports, its settings and how it is built and migrated.
var Service = service.Standard[Config, *Config]{
	Name: "rerun", Prefix: "RERUN_", GRPCPort: 9003, AdminPort: 8003,
	Summary: "records sample reruns: requests, the values of instruments, and what was decided on them",
	Build:   build, Migrate: migrate, Locks: mysql.Locks(),
}

// stores holds the stores of the use cases.
type stores struct {
	db       *sql.DB
	reports  *mysql.Store
	records  *mongo.Store
	openSet  *openset.OpenSet
	counters *counters
}

func build(_ context.Context, s *service.Service, cfg Config) error {
	cfg.Garbage.Delay()
	db, cache, err := s.Open(cfg.Stores, migrations.Schemas())
	if err != nil {
		return err
	}
	documents, err := mongo.Open(cfg.Mongo, s.Tracers())
	if err != nil {
		return err
	}
	s.Close("document store", func(ctx context.Context) error { return mongo.Close(ctx, documents) })
	reports, err := mysql.New(db, s.Clock, delivery.Messages{})
	if err != nil {
		return err
	}
	st := stores{
		db: db, reports: reports, records: mongo.New(documents), openSet: openset.New(cache),
		counters: newCounters(s.Registry),
	}
	relay, err := newRelay(s, cfg, st)
	if err != nil {
		return err
	}
	api, err := newServer(s, cfg, st, relay)
	if err != nil {
		return err
	}
	server, err := s.GRPC(s.Authenticator(cache))
	if err != nil {
		return err
	}
	rerunv1.RegisterRerunServiceServer(server, api)
	if cfg.DocumentStore {
		s.Check("document_store", st.records.Ready)
		s.Every("sweeper", cfg.Sweep.Interval, newSweeper(s, cfg, st).RunOnce)
	}
	return nil
}
