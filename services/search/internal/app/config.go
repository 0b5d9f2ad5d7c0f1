// Package app assembles the search process: its settings, servers and loops.
package app

import (
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/search/internal/freshness"
	"github.com/labplatform/labplatform/services/search/internal/limit"
	"github.com/labplatform/labplatform/services/search/internal/search"
	elasticstore "github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// Prefix is the prefix of the service's environment variables.
const Prefix = "SEARCH_"

const defaultGRPCPort = 9001

// Config holds every setting of the service.
type Config struct {
	REST      ListenerConfig
	GRPC      grpcserver.Config
	Lifecycle lifecycle.Config
	Garbage   service.GarbageCollection
	Telemetry telemetry.Config
	Auth      authn.Config
	ES        elastic.Config `envPrefix:"ES_"`
	Index     elasticstore.Config
	KV        redisdb.Config   `envPrefix:"KV_"`
	DB        mysqldb.Config   `envPrefix:"DB_"`
	Limit     limit.Config     `envPrefix:"RATE_LIMIT_"`
	Freshness freshness.Config `envPrefix:"CDC_"`

	// WorkersCount is the maximum number of processors that the process uses.
	WorkersCount int `env:"WORKERS_COUNT" envDefault:"1"`
	// DefaultSize is the page size of requests without a size.
	DefaultSize int `env:"DEFAULT_SIZE" envDefault:"10"`
	// CaptureSearchQuery records queries in spans. It must be off in systems with real patients.
	CaptureSearchQuery bool `env:"ES_CAPTURE_SEARCH_QUERY" envDefault:"false" danger:"true: names and telephone numbers are in traces"`
}

// Load reads the settings from environ. The gRPC and REST ports listen on the same host, HOST.
func Load(environ []string) (Config, error) {
	cfg := Config{}
	cfg.GRPC.GRPCPort = defaultGRPCPort
	err := config.Load(Prefix, &cfg, environ)
	cfg.GRPC.Host = cfg.REST.Host
	return cfg, err
}

// Validate rejects settings with which searches cannot work, and recorded queries in production.
func (c *Config) Validate() error {
	problems := []error{c.GRPC.TLS.NeededBy("REST_TLS", c.REST.TLS)}
	if c.WorkersCount < 1 {
		problems = append(problems, errors.New("WORKERS_COUNT must be at least 1"))
	}
	if c.DefaultSize < 1 || c.DefaultSize > search.MaxSize {
		problems = append(problems, fmt.Errorf("DEFAULT_SIZE must be from 1 to %d", search.MaxSize))
	}
	if c.CaptureSearchQuery && c.Telemetry.Production() {
		problems = append(problems,
			errors.New("ES_CAPTURE_SEARCH_QUERY must be false in production: it puts names and telephone numbers into traces"))
	}
	return errors.Join(problems...)
}

// Admin returns the settings of the listener that serves the health paths: the REST port.
func (c Config) Admin() httpserver.Config {
	return httpserver.Config{Host: c.REST.Host, AdminPort: c.REST.Port, Profiling: c.REST.Profiling, AdminTLS: c.REST.TLS}
}

// process returns the settings common to all services. The health paths are served on the REST port.
func (c *Config) process() service.Config {
	return service.Config{Admin: c.Admin(), GRPC: c.GRPC, Lifecycle: c.Lifecycle, Telemetry: c.Telemetry, Auth: c.Auth}
}

// processors returns how many of the machine's processors the process uses.
func (c *Config) processors(there int) int { return min(c.WorkersCount, there) }
