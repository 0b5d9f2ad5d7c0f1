// Package app assembles the cell counter process from its settings, stores and use cases.
package app

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/cellcounter/internal/grpcapi"
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	service.Stores

	// DefaultScope selects what a write without lab_id changes: "global", the defaults of all laboratories, or "session",
	// the mappings of the session's laboratory.
	DefaultScope string `env:"DEFAULT_SCOPE" envDefault:"global"`
}

// Validate returns an error for an unknown DefaultScope.
func (c *Config) Validate() error {
	switch grpcapi.DefaultScope(c.DefaultScope) {
	case grpcapi.DefaultIsGlobal, grpcapi.DefaultIsSession:
		return nil
	}
	return fmt.Errorf("DEFAULT_SCOPE is %q: use global or session", c.DefaultScope)
}
