package service

import (
	"net/http"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Config holds the settings that every gRPC service has. A service embeds it in its own Config.
type Config struct {
	Admin     httpserver.Config
	GRPC      grpcserver.Config
	Lifecycle lifecycle.Config
	Telemetry telemetry.Config
	Auth      authn.Config
}

// Validate returns an error if the administration listener must be encrypted but has no certificate.
func (c *Config) Validate() error { return c.GRPC.TLS.NeededBy("ADMIN_TLS", c.Admin.AdminTLS) }

// AdminServer returns the administration listener with handler.
func (c *Config) AdminServer(handler http.Handler) httpserver.Server {
	server := httpserver.Server{Address: c.Admin.Address(), Handler: handler}
	if c.Admin.AdminTLS {
		server.TLS = c.GRPC.TLS.Certificate().Server()
	}
	return server
}

// CommonConfig returns c. It gives Standard access to the Config that a service's configuration embeds.
func (c *Config) CommonConfig() *Config { return c }

// Ports sets the default ports of the listeners. It must be called before the settings are loaded.
func (c *Config) Ports(grpc, admin int) { c.GRPC.GRPCPort, c.Admin.AdminPort = grpc, admin }
