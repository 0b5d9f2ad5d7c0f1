package service

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/encoding"

	"github.com/labplatform/labplatform/pkg/aftercommit"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// Process describes the process to run.
type Process struct {
	Name    string // also the audience of service tokens
	Version string
	Config  Config
	// Prefix is the prefix of the process's variables, and Settings a pointer to its whole configuration. Variables with
	// Prefix that Settings does not read cause a warning.
	Prefix   string
	Settings any
	// OwnHealth omits the administration listener, for a service that serves the health paths itself.
	OwnHealth bool
	// Codec encodes and decodes the messages of the gRPC server; nil means gRPC's own.
	Codec encoding.CodecV2
}

// Service is a process under construction. Its methods may be called by the build function only.
type Service struct {
	Log      *slog.Logger
	Audit    *slog.Logger // audit log of reads and changes; not filtered by the log level
	Registry *prometheus.Registry
	Clock    clock.Clock
	Health   *httpserver.Health

	process   Process
	telemetry *telemetry.Telemetry
	group     *lifecycle.Group
	admin     *http.ServeMux
	server    *grpcserver.Server
	cache     redis.UniversalClient // nil until it is opened
	ownKeys   []string
	after     *aftercommit.Queue
	loops     []loop
}

type loop struct {
	name string
	run  func(context.Context) error
}

// Run builds the process and runs it until ctx ends or a part fails. Logs go to logs. It returns the errors of a failed
// part and of the stop, or nil after a clean stop.
func Run(ctx context.Context, p Process, logs io.Writer, build func(context.Context, *Service) error) error {
	t, err := telemetry.Start(ctx, p.Name, p.Version, p.Config.Telemetry, logs)
	if err != nil {
		return fmt.Errorf("start telemetry: %w", err)
	}
	group := lifecycle.New(p.Config.Lifecycle, t.Logger)
	group.Close("telemetry", func(ctx context.Context) error { t.Shutdown(ctx); return nil })
	s := &Service{
		Log: t.Logger, Audit: t.Audit, Registry: t.Registry, Clock: clock.System{}, Health: httpserver.NewHealth(t.Logger),
		process: p, telemetry: t, group: group,
	}
	s.register()
	s.admin = httpserver.Admin(p.Config.Admin, s.Health, t.Registry)
	s.warnOfUnknownSettings()
	if err := build(ctx, s); err != nil {
		group.Abandon(context.WithoutCancel(ctx))
		return err
	}
	s.start()
	return group.Wait(ctx)
}

func (s *Service) warnOfUnknownSettings() {
	if s.process.Settings == nil {
		return
	}
	if unknown := config.Unknown(s.process.Prefix, s.process.Settings, os.Environ()); len(unknown) > 0 {
		s.Log.Warn("unknown settings are ignored; check their spelling", "variables", unknown)
	}
}

// start adds everything to the lifecycle group: the servers first, so that they stop last.
func (s *Service) start() {
	s.group.OnDrain(s.Health.Drain)
	if !s.process.OwnHealth {
		s.group.Run("admin listener", s.serve("admin", s.process.Config.AdminServer(s.admin)))
	}
	s.group.Run("health", s.Health.Run)
	if s.after != nil { // before the server, so that it stops after the server's last call
		s.group.Run("work after commits", s.after.Run)
	}
	if s.server != nil {
		s.group.OnDrain(s.server.Drain)
		s.group.Run("gRPC server", s.server.Run)
	}
	for _, l := range s.loops {
		s.group.Run(l.name, l.run)
	}
}

// Loop adds background work. run must work until its context ends. An error other than context.Canceled stops the
// process.
func (s *Service) Loop(name string, run func(context.Context) error) {
	s.loops = append(s.loops, loop{name, run})
}

// Every adds a loop that calls runOnce at the start and after each interval. Errors are logged and do not stop the
// loop.
func (s *Service) Every(name string, interval time.Duration, runOnce func(context.Context) error) {
	s.Loop(name, func(ctx context.Context) error {
		return lifecycle.Every(ctx, interval, s.Log, name, runOnce)
	})
}

// Listen adds an HTTP listener. It stops before the gRPC server, so its handlers may call that server.
func (s *Service) Listen(name string, server httpserver.Server) {
	s.Loop(name, s.serve(name, server))
}

func (s *Service) serve(name string, server httpserver.Server) func(context.Context) error {
	server.Draining = s.Health.Draining
	return func(ctx context.Context) error {
		s.Log.Info("listening", "listener", name, "address", server.Address, "tls", server.TLS != nil)
		return server.Run(ctx)
	}
}

// AdminPage adds a page to the administration listener.
func (s *Service) AdminPage(pattern string, handler http.Handler) { s.admin.Handle(pattern, handler) }

// Close adds a function that is called after everything has stopped.
func (s *Service) Close(name string, f func(context.Context) error) { s.group.Close(name, f) }

// OnDrain adds a function that is called as the first step of a stop.
func (s *Service) OnDrain(f func()) { s.group.OnDrain(f) }

// Check adds a readiness check: the process is not ready while probe fails.
func (s *Service) Check(name string, probe func(context.Context) error) {
	s.Health.Add(httpserver.Check{Name: name, Probe: probe})
}

// Watch adds a check of a dependency without which the process still serves: it is shown on /health and in
// dependency_up, and the process stays ready.
func (s *Service) Watch(name string, probe func(context.Context) error) {
	s.Health.Add(httpserver.Check{Name: name, Probe: probe, Optional: true})
}

// Tracers returns the destination of spans, or nil if no endpoint is configured, so that costly instrumentation can be
// left out.
func (s *Service) Tracers() trace.TracerProvider {
	if !s.telemetry.Tracing {
		return nil
	}
	return s.telemetry.Tracers
}

// Telemetry returns the process's telemetry, for the edge.
func (s *Service) Telemetry() *telemetry.Telemetry { return s.telemetry }
