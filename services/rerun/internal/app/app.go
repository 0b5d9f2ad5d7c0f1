package app

import (
	"context"
	"database/sql"
	"io"

	"github.com/labplatform/labplatform/pkg/service"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	openset "github.com/labplatform/labplatform/services/rerun/internal/store/redis"
	"github.com/labplatform/labplatform/services/rerun/migrations"
)

// Name is the service's name in logs, tokens and the version table of its migrations.
const Name = "rerun"

// Serve runs the service until ctx ends. Logs go to logs.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	cfg.Garbage.Delay()
	p := service.Process{Name: Name, Version: version, Config: cfg.Config, Prefix: Prefix, Settings: &cfg}
	return service.Run(ctx, p, logs, func(_ context.Context, s *service.Service) error { return build(s, cfg) })
}

// stores are what the use cases stand on.
type stores struct {
	db       *sql.DB
	reports  *mysql.Store
	records  *mongo.Store
	openSet  *openset.OpenSet
	counters *counters
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
	documents, err := mongo.Open(cfg.Mongo, s.Tracers())
	if err != nil {
		return err
	}
	s.Close("document store", func(ctx context.Context) error { return mongo.Close(ctx, documents) })
	reports, err := mysql.New(db, s.Clock)
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
	s.Check("cache", service.Ping(cache))
	if cfg.DocumentStore {
		s.Check("document_store", st.records.Ready)
		s.Every("sweeper", cfg.Sweep.Interval, newSweeper(s, cfg, st).RunOnce)
	}
	return nil
}
