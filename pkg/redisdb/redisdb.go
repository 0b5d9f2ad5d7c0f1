// Package redisdb owns how a service opens a Redis: one node, a cluster, or a master that sentinels name, with
// timeouts, and with traces that never record a command's values.
package redisdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// Config holds the documented KV variables; nest it with envPrefix "KV_".
type Config struct {
	Host           string        `env:"HOST" envDefault:"localhost"`
	Port           int           `env:"PORT" envDefault:"7001"`
	ConnectionType string        `env:"CONNECTION_TYPE" envDefault:"cluster"`
	User           string        `env:"USER"`
	Password       config.Secret `env:"PASS"`
	// Sentinels, host:port each, know the master of a Redis that is no cluster; none: HOST is the master.
	Sentinels        []string      `env:"SENTINELS"`
	SentinelMaster   string        `env:"SENTINEL_MASTER" envDefault:"mymaster"`
	SentinelUser     string        `env:"SENTINEL_USER"`
	SentinelPassword config.Secret `env:"SENTINEL_PASS"`
	TLS              tlsfiles.Client
}

// Validate refuses unknown connection types and sentinels without a port.
func (c *Config) Validate() error {
	var problems []error
	if c.ConnectionType != "cluster" && c.ConnectionType != "standalone" {
		problems = append(problems, fmt.Errorf("CONNECTION_TYPE is %q: use cluster or standalone", c.ConnectionType))
	}
	for _, address := range c.Sentinels {
		if _, _, err := net.SplitHostPort(address); err != nil {
			problems = append(problems, fmt.Errorf("SENTINELS: %q is not host:port", address))
		}
	}
	return errors.Join(problems...)
}

const (
	dialTimeout = 3 * time.Second
	ioTimeout   = 3 * time.Second
)

// Open returns a client. It does not connect. tracers may be nil. The caller closes the client.
func Open(cfg Config, tracers trace.TracerProvider) (redis.UniversalClient, error) {
	client := redis.NewUniversalClient(Options(cfg))
	Trace(client, tracers)
	return client, nil
}

// Options returns the client options of cfg, for callers that need to change one, as the task queue's engine
// does with retries.
func Options(cfg Config) *redis.UniversalOptions {
	options := &redis.UniversalOptions{
		Addrs:         []string{net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port))},
		IsClusterMode: cfg.ConnectionType == "cluster",
		Username:      cfg.User,
		Password:      cfg.Password.Reveal(),
		DialTimeout:   dialTimeout,
		ReadTimeout:   ioTimeout,
		WriteTimeout:  ioTimeout,
		// A command ends with its caller's deadline, also on a server that hangs.
		ContextTimeoutEnabled: true,
		// The identity command makes old servers answer with an error on every connection.
		DisableIdentity: true,
		// Notices of maintenance are for one cloud's servers, and cost every client half a megabyte.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		// Pipelines use the connections of all, not some of their own with a quarter of a megabyte of buffers each.
		PipelinePoolSize: -1,
	}
	if len(cfg.Sentinels) > 0 {
		options.Addrs, options.IsClusterMode = cfg.Sentinels, false
		options.MasterName = cfg.SentinelMaster
		options.SentinelUsername, options.SentinelPassword = cfg.SentinelUser, cfg.SentinelPassword.Reveal()
	}
	if secure := cfg.TLS.Configuration(); secure != nil {
		options.Dialer = dialer(secure)
	}
	return options
}

// dialer verifies each node of a cluster by the name it is dialled by.
func dialer(secure func() (*tls.Config, error)) func(context.Context, string, string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: dialTimeout} // the handshake included
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		configuration, err := secure()
		if err != nil {
			return nil, fmt.Errorf("connect to the cache: %w", err)
		}
		return (&tls.Dialer{NetDialer: plain, Config: configuration}).DialContext(
			ctx,
			network,
			address,
		)
	}
}
