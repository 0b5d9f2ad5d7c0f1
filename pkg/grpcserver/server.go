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

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

const (
	hardStopAfter    = 15 * time.Second
	maxConnectionAge = 5 * time.Minute // clients rebalance over new replicas
	// maxConnectionDone is for what is under way on an old connection, which gets nothing new: a large upload over a slow
	// line must not be cut off because of the age of the connection that it happened to get.
	maxConnectionDone = time.Hour
	// minClientPing is below the half minute at which our clients ping, which the default would take for an attack.
	minClientPing  = 15 * time.Second
	defaultStreams = 4096
)

// Config is the gRPC listener.
type Config struct {
	Host     string `env:"HOST" envDefault:"0.0.0.0"`
	GRPCPort int    `env:"GRPC_PORT"`
	// MaxInFlight is how many calls are worked on at once; more are refused at once with a retry time.
	MaxInFlight int `env:"MAX_IN_FLIGHT" envDefault:"512"`
	// MaxStreams is the same for calls that stream answers as long as someone listens.
	MaxStreams int `env:"MAX_STREAMS" envDefault:"4096"`
	// DefaultDeadlineSeconds applies to calls that bring none, and caps those that bring a longer one.
	DefaultDeadlineSeconds int `env:"DEADLINE_SECONDS" envDefault:"10"`
	// MaxMessageBytes is the largest request.
	MaxMessageBytes int `env:"MAX_MESSAGE_BYTES" envDefault:"4194304"`
	// TLS makes the listener take members of one CA only.
	TLS tlsfiles.Config `envPrefix:"TLS_"`
}

// Validate refuses limits under which nothing would be served.
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
	return errors.Join(problems...)
}

const maxPort = 1<<16 - 1

// Authenticator turns credentials into a principal.
type Authenticator interface {
	Authenticate(context.Context, authn.Credentials) (authn.Principal, error)
}

// Deps is what a server needs.
type Deps struct {
	Telemetry     *telemetry.Telemetry
	Authenticator Authenticator
	// Anonymous lists full method names that need no credential. A credential that is sent is still checked.
	Anonymous []string
	// Codec reads and writes the messages; nil: gRPC's own.
	Codec encoding.CodecV2
}

// Server is a gRPC server; register services on it before Serve.
type Server struct {
	*grpc.Server
	cfg    Config
	log    *slog.Logger
	health *health.Server
	stop   context.CancelFunc // ends streams of answers
}

// New returns a server with the platform's interceptors.
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
	return s, nil
}

// Drain tells gRPC health checks that the server should get no new calls.
func (s *Server) Drain() { s.health.Shutdown() }

// Run listens on the configured port until ctx ends; see Serve.
func (s *Server) Run(ctx context.Context) error {
	address := net.JoinHostPort(s.cfg.Host, strconv.Itoa(s.cfg.GRPCPort))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return s.Serve(ctx, listener)
}

// Serve serves listener until ctx ends, ends streams of answers, lets other calls in flight finish, and cuts them off
// after 15 seconds.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		hard := time.AfterFunc(hardStopAfter, s.Stop)
		defer hard.Stop()
		s.stop()
		s.GracefulStop()
	})
	if err := s.Server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	<-stopped
	return nil
}
