package service

import (
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

// Ports sets the listeners' default ports, before the settings are loaded.
func (c *Config) Ports(grpc, admin int) { c.GRPC.GRPCPort, c.Admin.AdminPort = grpc, admin }
