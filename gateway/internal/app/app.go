package app

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/gateway/internal/cells"
	"github.com/labplatform/labplatform/gateway/internal/landing"
	"github.com/labplatform/labplatform/gateway/internal/pages"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
)

// Name is the gateway's name in logs and tokens.
const Name = "gateway"

// Serve runs the gateway until ctx ends. Logs go to logs. The gateway depends on no service: an unavailable service
// causes 503 in its own area only.
func Serve(ctx context.Context, cfg Config, version string, logs io.Writer) error {
	cfg.Garbage.Delay()
	p := service.Process{Name: Name, Version: version, Config: cfg.process(), Prefix: Prefix, Settings: &cfg}
	return service.Run(ctx, p, logs, func(ctx context.Context, s *service.Service) error { return build(ctx, s, cfg) })
}

func build(ctx context.Context, s *service.Service, cfg Config) error {
	if cfg.CellsFile != "" {
		return route(s, cfg)
	}
	connections := map[string]grpc.ClientConnInterface{}
	for name, address := range cfg.addresses() {
		if address == "" {
			continue
		}
		connection, err := s.Forward(address, name)
		if err != nil {
			return err
		}
		connections[name] = connection
		s.Watch(name, service.Connected(connection)) // detects an unavailable service before the first request fails
	}
	var demo *landing.Demo
	if cfg.DemoSignIn != "" {
		var err error
		if demo, err = landing.Read(cfg.DemoSignIn); err != nil {
			return err
		}
	}
	facts := landing.Facts{HasSearch: cfg.SearchAddr != "", SignOutURL: cfg.SignOutURL}
	listeners, err := edge.New(ctx, edge.Deps{
		Telemetry:      s.Telemetry(),
		Areas:          areas.List(),
		Pages:          append(pages.List(), areas.Docs(), landing.Page(demo, facts)),
		Connections:    connections,
		TrustedOrigins: cfg.TrustedOrigins,
		Tokens:         s.Tokens(),
	})
	if err != nil {
		return fmt.Errorf("build edge: %w", err)
	}
	public := httpserver.Server{Address: cfg.address(cfg.Port), Handler: listeners.Public(), TLS: cfg.PublicTLS.Server()}
	internal := httpserver.Server{Address: cfg.address(cfg.InternalPort), Handler: listeners.Internal()}
	if cfg.InternalTLS {
		internal.TLS = cfg.TLS.Certificate().Server()
	}
	s.Listen("public listener", public)
	s.Listen("internal listener", internal)
	return nil
}

// route sets up the router in front of several cells instead of an edge.
func route(s *service.Service, cfg Config) error {
	router, err := cells.New(cfg.CellsFile, s.Log, s.Registry)
	if err != nil {
		return err
	}
	s.Every("directory of cells", cells.RefreshEvery, router.Refresh)
	s.Listen("public listener", httpserver.Server{Address: cfg.address(cfg.Port), Handler: router, TLS: cfg.PublicTLS.Server()})
	return nil
}
