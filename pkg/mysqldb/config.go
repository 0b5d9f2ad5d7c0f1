// Package mysqldb opens the relational database, runs transactions, migrates tables, and elects the one process that
// does some work.
//
// Every session has time_zone +00:00, strict mode and READ COMMITTED. Deadlocks and lock timeouts are retried here, a
// limited number of times, and nowhere else. A failed commit is always returned as an error.
package mysqldb

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// maxConnections is the maximum of DB_POOL_SIZE. The platform's MySQL servers allow fewer connections per replica.
const maxConnections = 10_000

// Config holds the documented DB variables. Nest it with envPrefix "DB_".
type Config struct {
	Host               string        `env:"HOST" envDefault:"127.0.0.1"`
	Port               int           `env:"PORT" envDefault:"3306"`
	User               string        `env:"USER" envDefault:"lab"`
	Password           config.Secret `env:"PASSWORD" danger:": anyone who reaches the database can read and change it"`
	Database           string        `env:"DATABASE" envDefault:"lab"`
	PoolSize           int           `env:"POOL_SIZE" envDefault:"10"`
	PoolRecycleSeconds int           `env:"POOL_RECYCLE" envDefault:"3600"`
	TLS                tlsfiles.Client
}

// callersPerConnection is the number of concurrent calls per connection of the pool. If each call uses a connection for
// 10 ms, the last one waits for a sixth of a second.
const callersPerConnection = 16

// Validate returns an error for invalid addresses and pool sizes.
func (c *Config) Validate() error {
	var problems []error
	if c.Host == "" {
		problems = append(problems, errors.New("DB_HOST must name the database server"))
	}
	if c.Port < 1 || c.Port > math.MaxUint16 {
		problems = append(problems, fmt.Errorf("DB_PORT is %d: give a port from 1 to 65535", c.Port))
	}
	if c.PoolSize < 2 || c.PoolSize > maxConnections {
		problems = append(
			problems,
			fmt.Errorf("DB_POOL_SIZE is %d: it must be at least 2 (one connection may hold a lock while another works)"+
				" and at most %d", c.PoolSize, maxConnections),
		)
	}
	if c.PoolRecycleSeconds < 0 {
		problems = append(
			problems,
			fmt.Errorf("DB_POOL_RECYCLE is %d: give seconds, or 0 to keep connections open indefinitely", c.PoolRecycleSeconds),
		)
	}
	return errors.Join(problems...)
}

// MaxInFlight returns the maximum number of concurrent calls that use the database. More calls would wait for a
// connection until their deadline, instead of being refused at once.
func (c *Config) MaxInFlight() int { return c.PoolSize * callersPerConnection }

// CheckMaxInFlight returns an error for a limit of concurrent calls that the pool cannot serve. Services call it from
// their own Validate.
func (c *Config) CheckMaxInFlight(limit int) error {
	if limit > c.MaxInFlight() {
		return fmt.Errorf(
			"MAX_IN_FLIGHT is %d, but DB_POOL_SIZE %d serves at most %d calls at once: lower the one or raise the other",
			limit,
			c.PoolSize,
			c.MaxInFlight(),
		)
	}
	return nil
}

// connector returns a connector for the database of c. open makes it from the driver's configuration: once without TLS,
// and for each connection with TLS, so that rotated certificates are used.
func (c Config) connector(open func(*mysql.Config) (driver.Connector, error)) (driver.Connector, error) {
	plain := c.driverConfig()
	secure := c.TLS.Configuration()
	if secure == nil {
		return open(plain)
	}
	return rotating{plain, secure, open}, nil
}

func (c Config) driverConfig() *mysql.Config {
	d := mysql.NewConfig()
	d.Net = "tcp"
	d.Addr = net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
	d.User, d.Passwd, d.DBName = c.User, c.Password.Reveal(), c.Database
	return d
}
