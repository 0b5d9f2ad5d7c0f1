package mysqldb

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	dialTimeout      = 5 * time.Second
	statementTimeout = 30 * time.Second
	// lockWaitSeconds is below every caller's deadline: who waits for a row learns that others hold it, instead of
	// nothing. The server's own default is 50.
	lockWaitSeconds = 5
	// sessionSeconds is how long the server keeps a session from which it hears nothing, with the locks of rows that it
	// holds. A node that loses power or network says no farewell, and the server's own default is eight hours.
	sessionSeconds = 30
	// idleTimeout closes what the pool does not use before the server does.
	idleTimeout = 20 * time.Second
	// isolation is set by a statement: the variable's name differs between MySQL 8 and MariaDB.
	isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
)

// Connector returns a connector whose every session has what the platform expects: UTC, strict mode, READ COMMITTED,
// timeouts, five seconds at most for a row lock. The server ends a session from which it hears nothing for half a
// minute, or for the wait_timeout among cfg's parameters. It changes a copy of cfg. Tests and tools use it so that
// their sessions equal the services'.
func Connector(cfg *mysql.Config) (driver.Connector, error) {
	return newConnector(cfg, nil, statementTimeout)
}

// migrationConnector is Connector for statements that change tables. The client waits for them as long as they take.
// The server gives them up when they wait for other transactions: every later statement would queue behind them.
func migrationConnector(cfg *mysql.Config) (driver.Connector, error) {
	return newConnector(cfg, map[string]string{"lock_wait_timeout": strconv.Itoa(lockWaitSeconds)}, 0)
}

func newConnector(
	cfg *mysql.Config, more map[string]string, readTimeout time.Duration,
) (driver.Connector, error) {
	d := cfg.Clone()
	d.Timeout, d.ReadTimeout, d.WriteTimeout = dialTimeout, readTimeout, statementTimeout
	d.ParseTime, d.Loc = true, time.UTC
	d.Collation = "utf8mb4_unicode_ci"
	d.RejectReadOnly = true
	d.InterpolateParams = true    // one round trip a statement
	d.Logger = &mysql.NopLogger{} // what counts is in the errors; the driver's own lines are not JSON
	if d.Params == nil {
		d.Params = map[string]string{}
	}
	maps.Copy(d.Params, more)
	if d.Params["wait_timeout"] == "" {
		d.Params["wait_timeout"] = strconv.Itoa(sessionSeconds)
	}
	d.Params["time_zone"] = "'+00:00'"
	d.Params["innodb_lock_wait_timeout"] = strconv.Itoa(lockWaitSeconds)
	d.Params["sql_mode"] = "'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
	inner, err := mysql.NewConnector(d)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return connector{inner}, nil
}

type connector struct{ driver.Connector }

var _ driver.Connector = (*connector)(nil)

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("open database: the driver cannot execute statements"), conn.Close())
	}
	if _, err := execer.ExecContext(ctx, isolation, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("set isolation: %w", err), conn.Close())
	}
	return conn, nil
}

// rotating makes a connector for each connection, since the driver keeps the TLS configuration of a connector for good.
type rotating struct {
	plain  *mysql.Config
	secure func() (*tls.Config, error)
	open   func(*mysql.Config) (driver.Connector, error)
}

var _ driver.Connector = (*rotating)(nil)

func (r rotating) Connect(ctx context.Context) (driver.Conn, error) {
	configuration, err := r.secure()
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	d := r.plain.Clone()
	d.TLS = configuration
	inner, err := r.open(d)
	if err != nil {
		return nil, err
	}
	return inner.Connect(ctx)
}

func (rotating) Driver() driver.Driver { return mysql.MySQLDriver{} }
