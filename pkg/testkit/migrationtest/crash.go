package migrationtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

var errCrashed = errors.New("the process died")

// process is a connector of a process that dies before it executes one statement more than left: its connections end,
// and there are no new ones.
type process struct {
	driver.Connector

	mu       sync.Mutex
	left     int       // guarded by mu
	dead     bool      // guarded by mu
	sessions []session // guarded by mu
}

var _ driver.Connector = (*process)(nil)

// newProcess returns the pool of a process that dies after so many statements on the database of dsn.
func newProcess(t *testing.T, dsn string, statements int) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysqldb.Connector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return sql.OpenDB(&process{Connector: connector, left: statements})
}

// session is what the driver's connections can do.
type session interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

func (p *process) Connect(ctx context.Context) (driver.Conn, error) {
	if err := p.alive(); err != nil {
		return nil, err
	}
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s, ok := conn.(session)
	if !ok {
		return nil, fmt.Errorf("a connection of type %T", conn)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = append(p.sessions, s)
	return &mortal{s, p}, nil
}

func (p *process) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errCrashed
	}
	return nil
}

// step counts a statement, or ends everything before it.
func (p *process) step() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left > 0 && !p.dead {
		p.left--
		return nil
	}
	p.dead = true
	for _, s := range p.sessions {
		_ = s.Close()
	}
	p.sessions = nil
	return errCrashed
}

// mortal is a connection of the process.
type mortal struct {
	session
	p *process
}

var (
	_ driver.ConnBeginTx    = (*mortal)(nil)
	_ driver.ExecerContext  = (*mortal)(nil)
	_ driver.QueryerContext = (*mortal)(nil)
)

func (m *mortal) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := m.p.step(); err != nil {
		return nil, err
	}
	return m.session.ExecContext(ctx, query, args)
}

func (m *mortal) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := m.p.alive(); err != nil {
		return nil, err
	}
	return m.session.QueryContext(ctx, query, args)
}

func (m *mortal) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if err := m.p.alive(); err != nil {
		return nil, err
	}
	tx, err := m.session.BeginTx(ctx, options)
	return commit{tx, m.p}, err
}

// commit is a transaction whose COMMIT is a statement as well.
type commit struct {
	driver.Tx
	p *process
}

var _ driver.Tx = (*commit)(nil)

func (c commit) Commit() error {
	if err := c.p.step(); err != nil {
		return err
	}
	return c.Tx.Commit()
}
