// Package mysqldb owns how a service opens the relational database, runs transactions and migrates its tables.
//
// Every session has time_zone +00:00, strict mode and READ COMMITTED. Deadlocks and lock timeouts are retried
// here, bounded, and nowhere else; a failed commit is always reported.
package mysqldb

import (
	"errors"
	"net"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/config"
)

// Config holds the documented DB variables; nest it with envPrefix "DB_".
type Config struct {
	Host               string        `env:"HOST" envDefault:"127.0.0.1"`
	Port               int           `env:"PORT" envDefault:"3306"`
	User               string        `env:"USER" envDefault:"lab"`
	Password           config.Secret `env:"PASSWORD"`
	Database           string        `env:"DATABASE" envDefault:"lab"`
	PoolSize           int           `env:"POOL_SIZE" envDefault:"10"`
	PoolRecycleSeconds int           `env:"POOL_RECYCLE" envDefault:"3600"`
}

// Validate refuses pools that cannot work.
func (c *Config) Validate() error {
	if c.PoolSize < 2 {
		return errors.New("DB_POOL_SIZE must be at least 2: one connection may hold a lock while another works")
	}
	return nil
}

func (c Config) driverConfig() *mysql.Config {
	d := mysql.NewConfig()
	d.Net = "tcp"
	d.Addr = net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
	d.User, d.Passwd, d.DBName = c.User, c.Password.Reveal(), c.Database
	return d
}
