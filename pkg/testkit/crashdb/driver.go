package crashdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

type connector struct {
	driver.Connector

	p *Process
}

// Connect fails once the process is dead. Statements that set up the session are not counted.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.p.alive(); err != nil {
		return nil, err
	}
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s, ok := inner.(session)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection of type %T cannot be counted", inner), inner.Close())
	}
	return &conn{session: s, p: c.p}, nil
}

// session lists the interfaces of the driver's connections.
type session interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

type conn struct {
	session

	p    *Process
	inTx bool
}

// ExecContext counts the statement.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	kind := commits
	if c.inTx {
		kind = writes
	}
	lose, err := c.p.step(query, kind)
	if err != nil {
		return nil, err
	}
	result, err := c.session.ExecContext(ctx, query, args)
	if err == nil && lose {
		return nil, c.lose()
	}
	return result, err
}

// QueryContext counts the statement.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if _, err := c.p.step(query, reads); err != nil {
		return nil, err
	}
	return c.session.QueryContext(ctx, query, args)
}

// PrepareContext counts the statement, once for all its executions.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if _, err := c.p.step(query, reads); err != nil {
		return nil, err
	}
	return c.session.PrepareContext(ctx, query)
}

// BeginTx counts as a statement.
func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if _, err := c.p.step("BEGIN", reads); err != nil {
		return nil, err
	}
	inner, err := c.session.BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	c.inTx = true
	return tx{inner, c}, nil
}

// lose closes the connection. Callers get the driver's error for a broken connection.
func (c *conn) lose() error { return errors.Join(mysql.ErrInvalidConn, c.Close()) }

type tx struct {
	driver.Tx

	c *conn
}

// Commit counts as a statement.
func (t tx) Commit() error {
	t.c.inTx = false
	lose, err := t.c.p.step("COMMIT", commits)
	if err != nil {
		return err
	}
	if err := t.Tx.Commit(); err != nil || !lose {
		return err
	}
	return t.c.lose()
}

// Rollback is not counted: the server does the same when the process dies before it.
func (t tx) Rollback() error {
	t.c.inTx = false
	return t.Tx.Rollback()
}
