// Package app assembles the cell counter process from its settings, stores and use cases.
package app

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/cellcounter/internal/grpcapi"
)

// Prefix of the service's environment variables.
const Prefix = "CELL_COUNTER_"

// Default ports.
const (
	defaultGRPCPort  = 9005
	defaultAdminPort = 8005
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	DB mysqldb.Config `envPrefix:"DB_"`
	KV redisdb.Config `envPrefix:"KV_"`

	// DefaultScope selects what a write without lab_id changes: "global", the defaults of all laboratories, or "session",
	// the mappings of the session's laboratory.
	DefaultScope string `env:"DEFAULT_SCOPE" envDefault:"global"`
}

// Load returns the settings of environ, with all problems in one error.
func Load(environ []string) (Config, error) {
	cfg := Config{}
	cfg.Ports(defaultGRPCPort, defaultAdminPort)
	err := config.Load(Prefix, &cfg, environ)
	return cfg, err
}

// Validate returns an error for an unknown DefaultScope.
func (c *Config) Validate() error {
	switch grpcapi.DefaultScope(c.DefaultScope) {
	case grpcapi.DefaultIsGlobal, grpcapi.DefaultIsSession:
		return nil
	}
	return fmt.Errorf("DEFAULT_SCOPE is %q: use global or session", c.DefaultScope)
}
