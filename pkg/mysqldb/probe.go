package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// probeTimeout limits a readiness check.
const probeTimeout = 2 * time.Second

// Probe checks whether the database responds, on a separate connection: an exhausted pool means many callers, not an
// unavailable database, and must not take every replica out of service at once.
type Probe struct {
	db      *sql.DB
	schemas []Schema
	more    []string // tables of other owners
}

// NewProbe returns a probe of the database of cfg, of schemas and of more tables. It does not connect. The caller must
// close it.
func NewProbe(cfg Config, schemas []Schema, more ...string) (*Probe, error) {
	connector, err := cfg.connector(Connector)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	db.SetConnMaxIdleTime(idleTimeout)
	return &Probe{db, schemas, more}, nil
}

// errNoResponse is the cause when a server accepts a connection and then sends nothing.
var errNoResponse = errors.New("the database did not respond in time")

// Ready returns nil if the database responds within two seconds and has the tables. With a *SchemaError that is Newer,
// the service can still work.
func (p *Probe) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, errNoResponse)
	defer cancel()
	if err := p.db.PingContext(ctx); err != nil {
		return fmt.Errorf("database: %w", errors.Join(err, context.Cause(ctx)))
	}
	for _, table := range p.more {
		if err := hasTable(ctx, p.db, table); err != nil {
			return fmt.Errorf("database: %w", errors.Join(err, context.Cause(ctx)))
		}
	}
	if err := CheckSchemas(ctx, p.db, p.schemas); err != nil {
		return fmt.Errorf("database: %w", errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

// Close closes the connection.
func (p *Probe) Close() error { return p.db.Close() }
