package grpcserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

const (
	hardStopAfter    = 15 * time.Second
	maxConnectionAge = 5 * time.Minute // so that clients rebalance over new replicas
	// maxConnectionDone is the time for running calls on an old connection, which gets no new ones. It is long, so that a
	// large upload over a slow line is not cut off.
	maxConnectionDone = time.Hour
	// minClientPing is below the 20 seconds after which the platform's clients ping. gRPC's default would treat the pings
	// as an attack.
	minClientPing  = 15 * time.Second
	defaultStreams = 4096
)

// Config holds the settings of the gRPC listener.
type Config struct {
	Host     string `env:"HOST" envDefault:"0.0.0.0"`
	GRPCPort int    `env:"GRPC_PORT"`
	// MaxInFlight limits concurrent calls; more are refused at once with a retry time.
	MaxInFlight int `env:"MAX_IN_FLIGHT" envDefault:"512"`
	// MaxStreams limits concurrent streams of responses.
	MaxStreams int `env:"MAX_STREAMS" envDefault:"4096"`
	// MaxUploads limits concurrent streams of requests, which keep buffers while they last; 0: as MaxInFlight. It is no
	// variable of every service: one that has such streams sets it.
	MaxUploads int
	// DefaultDeadlineSeconds is the deadline of calls without one, and the maximum for others.
	DefaultDeadlineSeconds int `env:"DEADLINE_SECONDS" envDefault:"10"`
	// MaxMessageBytes limits the size of a request.
	MaxMessageBytes int `env:"MAX_MESSAGE_BYTES" envDefault:"4194304"`
	// FurtherCallers maps programs that no contract lists to a listed caller, whose rights they get.
	FurtherCallers map[string]string `env:"FURTHER_CALLERS"`
	// TLS makes the listener accept only certificates of one CA.
	TLS tlsfiles.Config `envPrefix:"TLS_"`
}

// Validate returns an error for limits that would refuse every call, an invalid port, and the entries that checkCallers
// rejects.
func (c *Config) Validate() error {
	var problems []error
	for _, limit := range []struct {
		name  string
		value int
	}{
		{"MAX_IN_FLIGHT", c.MaxInFlight}, {"MAX_STREAMS", c.MaxStreams},
		{"DEADLINE_SECONDS", c.DefaultDeadlineSeconds}, {"MAX_MESSAGE_BYTES", c.MaxMessageBytes},
	} {
		if limit.value <= 0 {
			problems = append(problems, fmt.Errorf("%s is %d: use a number above 0", limit.name, limit.value))
		}
	}
	if c.GRPCPort < 0 || c.GRPCPort > maxPort {
		problems = append(problems, fmt.Errorf("GRPC_PORT is %d: use 0 to %d", c.GRPCPort, maxPort))
	}
	return errors.Join(append(problems, c.checkCallers())...)
}

// checkCallers rejects entries of FurtherCallers whose program has the name of a listed caller, because they would
// replace its rights, and entries whose caller no contract lists.
func (c *Config) checkCallers() error {
	if len(c.FurtherCallers) == 0 {
		return nil
	}
	listed := map[string]bool{}
	for _, callers := range Callers() {
		for _, name := range callers.GetServices() {
			listed[name] = true
		}
	}
	for further, as := range c.FurtherCallers {
		if further == "" || listed[further] || !listed[as] {
			return fmt.Errorf("FURTHER_CALLERS has %s:%s: use pairs of a program that no contract lists and a caller that one"+
				" lists, like bridge:core", further, as)
		}
	}
	return nil
}

const maxPort = 1<<16 - 1

// Authenticator returns the principal of credentials, or an apperr error.
type Authenticator interface {
	Authenticate(context.Context, authn.Credentials) (authn.Principal, error)
}

// Deps holds the dependencies of a server.
type Deps struct {
	Telemetry     *telemetry.Telemetry
	Authenticator Authenticator
	// Anonymous lists the full names of methods that need no credential. A credential that is sent is still checked.
	Anonymous []string
	// Reflection describes the contracts to every caller, for development.
	Reflection bool
	// Codec encodes and decodes the messages; nil means gRPC's own.
	Codec encoding.CodecV2
	// Responses executes requests with an idempotency key once; nil if the methods are not repeatable.
	Responses Responses
	// OwnKeys lists the full names of methods whose service handles idempotency keys itself.
	OwnKeys []string
}

// Server is a gRPC server. Register services on it before Serve.
type Server struct {
	*grpc.Server
	cfg    Config
	log    *slog.Logger
	health *health.Server
	stop   context.CancelFunc // ends streams of responses
}

// New returns a server with the platform's interceptors and registers their metrics.
func New(cfg Config, deps Deps) (*Server, error) {
	m, err := newMetrics(deps.Telemetry.Registry)
	if err != nil {
		return nil, err
	}
	stopping, stop := context.WithCancel(context.Background())
	i := newInterceptors(stopping, cfg, deps, m)
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(cfg.MaxMessageBytes),
		grpc.KeepaliveParams(
			keepalive.ServerParameters{MaxConnectionAge: maxConnectionAge, MaxConnectionAgeGrace: maxConnectionDone},
		),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minClientPing, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(
			m.calls.UnaryServerInterceptor(grpcprom.WithExemplarFromContext(telemetry.Exemplar)),
			i.finishUnary,
			i.recoverUnary,
			i.deadlineUnary,
			i.authenticateUnary,
			i.limitUnary,
			i.repeatUnary,
		),
		grpc.ChainStreamInterceptor(
			m.calls.StreamServerInterceptor(grpcprom.WithExemplarFromContext(telemetry.Exemplar)),
			i.finishStream,
			i.recoverStream,
			i.authenticateStream,
			i.limitStream,
			i.endStream,
		),
	}
	if deps.Codec != nil {
		options = append(options, grpc.ForceServerCodecV2(deps.Codec))
	}
	if cfg.TLS.Enabled() {
		options = append(options, grpc.Creds(cfg.TLS.Credentials()))
	}
	if deps.Telemetry.Tracing {
		options = append(
			options,
			grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(deps.Telemetry.Tracers))),
		)
	}
	s := &Server{
		Server: grpc.NewServer(options...), cfg: cfg, log: deps.Telemetry.Logger, health: health.NewServer(), stop: stop,
	}
	healthv1.RegisterHealthServer(s.Server, s.health)
	if deps.Reflection {
		reflection.Register(s.Server)
	}
	return s, nil
}

// Drain makes gRPC health checks report that the server must get no new calls.
func (s *Server) Drain() { s.health.Shutdown() }

// Run listens on the configured port until ctx ends, as Serve does.
func (s *Server) Run(ctx context.Context) error {
	address := net.JoinHostPort(s.cfg.Host, strconv.Itoa(s.cfg.GRPCPort))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return s.Serve(ctx, listener)
}

// Serve serves listener until ctx ends. Then it ends streams of responses, lets other calls finish for up to 15
// seconds, and closes their connections.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		hard := time.AfterFunc(hardStopAfter, s.Stop)
		defer hard.Stop()
		s.stop()
		s.GracefulStop()
	})
	for name := range s.GetServiceInfo() { // clients ask for the service that they call
		s.health.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	if err := s.Server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	<-stopped
	return nil
}
