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
	// lockWaitSeconds is below the usual deadline of ten seconds, so that a call that waits for a locked row fails with a
	// lock timeout instead of its deadline. The server's default is 50.
	lockWaitSeconds = 5
	// sessionSeconds is the time after which the server closes a silent session and releases its row locks. A node that
	// loses power or network does not close its sessions, and the server's default is eight hours.
	sessionSeconds = 30
	// idleTimeout closes idle connections before the server does.
	idleTimeout = 20 * time.Second
	// isolation is a statement, because the variable's name differs between MySQL 8 and MariaDB.
	isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
)

// Connector returns a connector whose sessions have the platform's settings: UTC, strict mode, READ COMMITTED,
// timeouts, and at most five seconds for a row lock. The server closes a session after 30 silent seconds, or after the
// wait_timeout in cfg's parameters. Connector changes a copy of cfg. Tests and tools use it to have the same sessions
// as the services.
func Connector(cfg *mysql.Config) (driver.Connector, error) {
	return newConnector(cfg, nil, statementTimeout)
}

// migrationConnector returns a Connector for statements that change tables. The client waits for them without limit.
// The server aborts them when they wait for other transactions, because every later statement on the table would queue
// behind them.
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
	d.InterpolateParams = true    // one round trip per statement
	d.Logger = &mysql.NopLogger{} // the driver's log lines are not JSON; its failures are returned as errors
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

// rotating creates a connector for each connection, because the driver keeps the TLS configuration of a connector.
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
