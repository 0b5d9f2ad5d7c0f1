package service

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/url"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/encoding"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/redisdb"
)

// Standard describes a gRPC service with tables of its own in the platform's database and with the platform's cache.
// C is its configuration, which embeds Config and Stores, and P is a pointer to it.
type Standard[C any, P Settings[C]] struct {
	Name    string // in logs, tokens and the version table of the migrations
	Summary string
	Prefix  string // prefix of its environment variables
	// GRPCPort and AdminPort are the defaults of the listeners.
	GRPCPort, AdminPort int
	// Codec reads and writes the messages of the gRPC server; nil: gRPC's own.
	Codec encoding.CodecV2
	// Build opens what the service needs and adds what runs in it.
	Build func(ctx context.Context, s *Service, cfg C) error
	// Migrate creates or updates the service's own tables.
	Migrate func(ctx context.Context, cfg C, log *slog.Logger) error
	// Locks are the leader locks of the loops that run in one replica at a time; nil if there are none.
	Locks []mysqldb.Lock
	// More holds the verbs that only this service has.
	More []cli.Verb
}

// Settings is a pointer to a configuration that embeds Config and Stores.
type Settings[C any] interface {
	*C
	CommonConfig() *Config
	StoresConfig() *Stores
}

// Stores holds the settings of the platform's database and cache.
type Stores struct {
	DB mysqldb.Config `envPrefix:"DB_"`
	KV redisdb.Config `envPrefix:"KV_"`
}

// StoresConfig returns c. It gives Standard access to the Stores that a service's configuration embeds.
func (c *Stores) StoresConfig() *Stores { return c }

// Load reads the settings from environ.
func (d Standard[C, P]) Load(environ []string) (C, error) {
	var cfg C
	P(&cfg).CommonConfig().Ports(d.GRPCPort, d.AdminPort)
	err := config.Load(d.Prefix, &cfg, environ)
	return cfg, err
}

// Serve runs the service until ctx ends. Logs go to logs.
func (d Standard[C, P]) Serve(ctx context.Context, cfg C, version string, logs io.Writer) error {
	p := Process{
		Name: d.Name, Version: version, Config: *P(&cfg).CommonConfig(), Prefix: d.Prefix, Settings: &cfg, Codec: d.Codec,
	}
	return Run(ctx, p, logs, func(ctx context.Context, s *Service) error { return d.Build(ctx, s, cfg) })
}

// Main runs the verb that the process's arguments name and ends the process.
func (d Standard[C, P]) Main(version string) {
	Binary[C]{
		Name: d.Name, Summary: d.Summary, Version: version, Prefix: d.Prefix,
		Load: d.Load, Serve: d.Serve, Migrate: d.Migrate, Locks: d.Locks, More: d.More,
		Admin:    func(cfg C) httpserver.Config { return P(&cfg).CommonConfig().Admin },
		Database: func(cfg C) mysqldb.Config { return P(&cfg).StoresConfig().DB },
	}.Main()
}

// Open opens the database and the cache. The process is not ready while one of them is unavailable, or while the
// database lacks one of the schemas. Open must be called before GRPC.
func (s *Service) Open(cfg Stores, schemas []mysqldb.Schema) (*sql.DB, redis.UniversalClient, error) {
	db, err := s.Database(cfg.DB)
	if err != nil {
		return nil, nil, err
	}
	if err := s.CheckDatabase("database", cfg.DB, schemas); err != nil {
		return nil, nil, err
	}
	cache, err := s.Cache(cfg.KV)
	if err != nil {
		return nil, nil, err
	}
	s.Check("cache", Ping(cache))
	return db, cache, nil
}

// Webhook holds the address at which the task queue reports the end of a service's jobs.
type Webhook struct {
	// WebhookURL is the gateway's internal listener, as the task queue reaches it.
	WebhookURL string `env:"WEBHOOK_URL" absolute:"true" envDefault:"http://127.0.0.1:8091"`
}

// Validate refuses an address that the task queue could not post to.
func (c *Webhook) Validate() error {
	u, err := url.Parse(c.WebhookURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" {
		return errors.New("WEBHOOK_URL must be the origin of the gateway's internal listener, like http://gateway:8091")
	}
	return nil
}

// Taskqueue holds the address of the task queue. It is never empty: an empty variable stands for the default.
type Taskqueue struct {
	TaskqueueAddr string `env:"TASKQUEUE_ADDR" envDefault:"127.0.0.1:9004"`
}
