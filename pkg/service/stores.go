package service

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/redisdb"
)

// Database opens the pool of the relational database, with spans and gauges.
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

// Cache opens the key-value cache, with spans.
func (s *Service) Cache(cfg redisdb.Config) (redis.UniversalClient, error) {
	client, err := redisdb.Open(cfg, s.Tracers())
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	s.Close("cache", func(context.Context) error { return client.Close() })
	return client, nil
}

// Ping returns the probe of a cache.
func Ping(client redis.UniversalClient) func(context.Context) error {
	return func(ctx context.Context) error { return client.Ping(ctx).Err() }
}
