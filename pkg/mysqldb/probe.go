package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// probeTimeout is how long a database may take to say that it is there.
const probeTimeout = 2 * time.Second

// Probe asks whether the database answers, on a connection of its own: a pool that is used up means many callers, not a
// database that is unavailable, and must not turn every replica unready at once.
type Probe struct {
	db      *sql.DB
	schemas []Schema
	more    []string // tables that others own
}

// NewProbe returns a probe of the database that cfg names, of schemas and of more tables. Like Open it does not
// connect. The caller closes it.
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

// errNoAnswer has no cause: a server that takes a connection and then says nothing gives none.
var errNoAnswer = errors.New("the database did not answer in time")

// Ready returns nil when the database answers within two seconds and has the tables. A *SchemaError that is Newer tells
// of a database with which the service works.
func (p *Probe) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, errNoAnswer)
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

// Close ends the connection.
func (p *Probe) Close() error { return p.db.Close() }
