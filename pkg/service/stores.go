package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/aftercommit"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/redisdb"
)

// Database opens the connection pool of the relational database, with spans and metrics.
func (s *Service) Database(cfg mysqldb.Config) (*sql.DB, error) {
	db, err := mysqldb.Open(cfg, s.Tracers())
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	s.Close("database", func(context.Context) error { return db.Close() })
	if err := mysqldb.Metrics(s.Registry, db); err != nil {
		return nil, fmt.Errorf("database metrics: %w", err)
	}
	return db, nil
}

// CheckDatabase makes the process not ready while the database cannot be reached on a separate connection, lacks a
// table of schemas or of more, or has an older schema. It also limits concurrent gRPC calls to the number that the pool
// can serve before their deadline, so it must be called before GRPC.
func (s *Service) CheckDatabase(name string, cfg mysqldb.Config, schemas []mysqldb.Schema, more ...string) error {
	if s.server != nil {
		return errors.New("CheckDatabase must come before GRPC: it limits the server")
	}
	grpc := &s.process.Config.GRPC
	grpc.MaxInFlight = min(grpc.MaxInFlight, cfg.MaxInFlight())
	probe, err := mysqldb.NewProbe(cfg, schemas, more...)
	if err != nil {
		return fmt.Errorf("open database probe: %w", err)
	}
	s.Close(name+" probe", func(context.Context) error { return probe.Close() })
	s.Check(name, func(ctx context.Context) error { return s.NoteSchema(name, probe.Ready(ctx)) })
	return nil
}

// NoteSchema shows a schema that is newer than expected on /health. It returns err, the result of a check of the
// database called name, unless the service can work with the schema.
func (s *Service) NoteSchema(name string, err error) error {
	var differs *mysqldb.SchemaError
	if errors.As(err, &differs) && differs.Newer {
		s.Health.Note(name, differs.Reason())
		return nil
	}
	if err == nil {
		s.Health.Note(name, "")
	}
	return err
}

// AfterCommit creates the queue of work that runs after commits. tasks lists the names of the work, for the metrics.
func (s *Service) AfterCommit(tasks ...string) *aftercommit.Queue {
	s.after = aftercommit.New(s.Log, aftercommit.NewMetrics(s.Registry, tasks...))
	return s.after
}

// Signals creates the signals called name, such as callout_live, which notify the event streams of all replicas after
// commits.
func (s *Service) Signals(cache redis.UniversalClient, name string) *livefeed.Signals {
	signals := livefeed.NewSignals(cache, s.AfterCommit(livefeed.SignalTask), name)
	s.Close("live subscription", func(context.Context) error { return signals.Close() })
	return signals
}

// Migration describes what a service needs from the relational database.
type Migration struct {
	// Legacy lists the platform's tables and columns that the service uses; they are checked, never altered.
	Legacy map[string][]string
	// Indexes lists the indexes of the platform's tables that the service's queries need; missing ones are logged.
	Indexes []mysqldb.Index
	Schemas []mysqldb.Schema // schemas of the service's own tables
}

// Migrate checks the platform's tables and creates or updates the service's own. It is idempotent and may run in
// several replicas at once.
func Migrate(ctx context.Context, cfg mysqldb.Config, m Migration, log *slog.Logger) error {
	db, err := mysqldb.OpenForMigrations(cfg)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close()
	if err := mysqldb.RequireColumns(ctx, db, m.Legacy); err != nil {
		return fmt.Errorf("check tables: %w", err)
	}
	missing, err := mysqldb.MissingIndexes(ctx, db, m.Indexes)
	if err != nil {
		return fmt.Errorf("check tables: %w", err)
	}
	for _, finding := range missing {
		log.WarnContext(ctx, "table of the platform lacks an index, its owner must add it", "finding", finding)
	}
	if err := mysqldb.Migrate(ctx, db, m.Schemas, log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// Cache opens the client of the key-value cache, with spans. The responses to requests with an idempotency key are kept
// there, so it must be called before GRPC.
func (s *Service) Cache(cfg redisdb.Config) (redis.UniversalClient, error) {
	client, err := redisdb.Open(cfg, s.Tracers())
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	s.Close("cache", func(context.Context) error { return client.Close() })
	s.cache = client
	return client, nil
}

// Ping returns the readiness probe of a cache.
func Ping(client redis.UniversalClient) func(context.Context) error {
	return func(ctx context.Context) error { return client.Ping(ctx).Err() }
}
