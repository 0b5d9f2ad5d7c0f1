// Package redisdb opens clients of Redis: a single node, a cluster, or a master found through sentinels. Clients have
// timeouts, and traces that never record the values of commands.
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

// Config holds the documented KV variables. Nest it with envPrefix "KV_".
type Config struct {
	Host           string        `env:"HOST" envDefault:"localhost"`
	Port           int           `env:"PORT" envDefault:"7001"`
	ConnectionType string        `env:"CONNECTION_TYPE" envDefault:"cluster"`
	User           string        `env:"USER"`
	Password       config.Secret `env:"PASS" danger:": anyone who reaches this Redis can log in as anyone, or read jobs"`
	// Sentinels (host:port each) name the current master of a Redis that is not a cluster. If empty, HOST is the master.
	Sentinels        []string      `env:"SENTINELS"`
	SentinelMaster   string        `env:"SENTINEL_MASTER" envDefault:"mymaster"`
	SentinelUser     string        `env:"SENTINEL_USER"`
	SentinelPassword config.Secret `env:"SENTINEL_PASS"`
	TLS              tlsfiles.Client
}

// Validate returns an error for an unknown connection type and for sentinels without a port.
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
	// idleTimeout closes idle connections before a server or firewall does: a command on a closed one fails.
	idleTimeout = 20 * time.Second
)

// Open returns a client without connecting. tracers may be nil. The caller must close the client.
func Open(cfg Config, tracers trace.TracerProvider) (redis.UniversalClient, error) {
	client := redis.NewUniversalClient(Options(cfg))
	Trace(client, tracers)
	return client, nil
}

// Options returns the client options of cfg, for callers that change one of them.
func Options(cfg Config) *redis.UniversalOptions {
	options := &redis.UniversalOptions{
		Addrs:           []string{net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port))},
		IsClusterMode:   cfg.ConnectionType == "cluster",
		Username:        cfg.User,
		Password:        cfg.Password.Reveal(),
		DialTimeout:     dialTimeout,
		ReadTimeout:     ioTimeout,
		WriteTimeout:    ioTimeout,
		ConnMaxIdleTime: idleTimeout,
		// Commands end with their context's deadline, even if the server hangs.
		ContextTimeoutEnabled: true,
		// Old servers respond to the identity command with an error on every connection.
		DisableIdentity: true,
		// Maintenance notifications exist on one vendor's cloud only and cost half a megabyte per client.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		// Pipelines share the pool's connections; connections of their own would need 256 KiB of buffers each.
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

// dialer returns a dial function that verifies each node by the host name that is dialled.
func dialer(secure func() (*tls.Config, error)) func(context.Context, string, string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: dialTimeout} // includes the handshake
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
