package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/grpcclient"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

const (
	service = "gateway"
	// collectAt makes the collector wait until the heap grew fivefold. The edge keeps nothing between requests,
	// so its live heap is a few megabytes and the default would collect hundreds of times a second under load:
	// a fifth of its CPU. GOGC, when set, wins.
	collectAt = 400
)

// Run serves until ctx ends. Logs go to logs.
func Run(ctx context.Context, cfg Config, version string, environ []string, logs io.Writer) error {
	tel, err := telemetry.Start(ctx, service, version, cfg.Telemetry, logs)
	if err != nil {
		return err
	}
	if unknown := config.Unknown(Prefix, &cfg, environ); len(unknown) > 0 {
		tel.Logger.Warn("unknown settings are ignored; check their spelling", "variables", unknown)
	}
	if !slices.ContainsFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, "GOGC=") }) {
		debug.SetGCPercent(collectAt)
	}
	group := lifecycle.New(cfg.Lifecycle, tel.Logger)
	group.Close("telemetry", tel.Shutdown)
	doors, err := open(ctx, cfg, tel, group)
	if err != nil {
		group.Abandon(ctx)
		return err
	}
	// Nothing here needs a dependency: a service that is away is its own area's 503, not the edge's.
	health := httpserver.NewHealth(tel.Logger)
	group.OnDrain(health.Drain)
	serve := func(name string, address string, handler func(context.Context) error) {
		tel.Logger.Info("listening", "listener", name, "address", address)
		group.Run(name, handler)
	}
	admin := httpserver.Admin(cfg.Admin, health, tel.Registry)
	serve("admin", cfg.Admin.Address(), func(ctx context.Context) error {
		return httpserver.Serve(ctx, cfg.Admin.Address(), admin)
	})
	public := net.JoinHostPort(cfg.Admin.Host, strconv.Itoa(cfg.Port))
	serve("public", public, func(ctx context.Context) error { return httpserver.Serve(ctx, public, doors.Public()) })
	internal := net.JoinHostPort(cfg.Admin.Host, strconv.Itoa(cfg.InternalPort))
	serve("internal", internal, func(ctx context.Context) error { return httpserver.Serve(ctx, internal, doors.Internal()) })
	return group.Wait(ctx)
}

// open connects to the services and builds the edge. Connections close with the group.
func open(ctx context.Context, cfg Config, tel *telemetry.Telemetry, group *lifecycle.Group) (*edge.Edge, error) {
	connections := map[string]grpc.ClientConnInterface{}
	for name, address := range cfg.addresses() {
		if address == "" {
			continue
		}
		connection, err := grpcclient.Connect(address, tel)
		if err != nil {
			return nil, err
		}
		group.Close(name, func(context.Context) error { return connection.Close() })
		connections[name] = connection
	}
	doors, err := edge.New(ctx, edge.Deps{
		Telemetry: tel, Areas: areas.List(), Pages: []edge.Page{areas.Docs()}, Connections: connections, TrustedOrigins: cfg.TrustedOrigins,
		Tokens: authn.NewServiceTokens(cfg.ServiceTokenSecret, service, clock.System{}),
	})
	if err != nil {
		return nil, fmt.Errorf("build edge: %w", err)
	}
	return doors, nil
}
