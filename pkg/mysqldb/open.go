package mysqldb

import (
	"database/sql"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Open returns a connection pool without connecting: an unavailable database makes the service not ready, but does not
// stop it. tracers may be nil; spans contain the statement without its arguments. The caller must close the pool.
func Open(cfg Config, tracers trace.TracerProvider) (*sql.DB, error) {
	connector, err := cfg.connector(Connector)
	if err != nil {
		return nil, err
	}
	var db *sql.DB
	if tracers == nil {
		db = sql.OpenDB(connector)
	} else {
		db = otelsql.OpenDB(connector, otelsql.WithTracerProvider(tracers),
			otelsql.WithAttributes(semconv.DBSystemNameMySQL, semconv.DBNamespace(cfg.Database),
				semconv.ServerAddress(cfg.Host), semconv.ServerPort(cfg.Port)),
			otelsql.WithSpanNameFormatter(spanName), otelsql.WithAttributesGetter(summarized),
			otelsql.WithSpanErrorAttributesGetter(errorNumber), otelsql.WithSpanOptions(spanOptions))
	}
	db.SetMaxOpenConns(cfg.PoolSize)
	db.SetMaxIdleConns(cfg.PoolSize)
	db.SetConnMaxIdleTime(idleTimeout)
	db.SetConnMaxLifetime(time.Duration(cfg.PoolRecycleSeconds) * time.Second)
	return db, nil
}

// OpenForMigrations returns a pool for Migrate without connecting. The caller must close it.
func OpenForMigrations(cfg Config) (*sql.DB, error) {
	connector, err := cfg.connector(migrationConnector)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetConnMaxIdleTime(idleTimeout)
	return db, nil
}

// Metrics registers the pool's metrics.
func Metrics(registry prometheus.Registerer, db *sql.DB) error {
	return registry.Register(collectors.NewDBStatsCollector(db, "main"))
}
