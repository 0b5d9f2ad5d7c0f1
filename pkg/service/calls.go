package service

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/grpcclient"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/idempotency"
)

// Tokens returns the minter and verifier of this service's service tokens.
func (s *Service) Tokens() *authn.ServiceTokens {
	return authn.NewServiceTokens(s.process.Config.Auth.ServiceTokenSecret, s.process.Name, s.Clock)
}

// Authenticator returns an authenticator for sessions in the cache, bearer tokens and service tokens.
func (s *Service) Authenticator(cache redis.UniversalClient) *authn.Authenticator {
	return s.authenticator(authn.NewRedisSessions(cache))
}

// ServicesOnly returns the authenticator of a service that users never call; it accepts no session.
func (s *Service) ServicesOnly() *authn.Authenticator { return s.authenticator(noSessions{}) }

func (s *Service) authenticator(sessions authn.SessionStore) *authn.Authenticator {
	return authn.NewAuthenticator(s.process.Config.Auth, sessions, s.process.Name, s.Clock)
}

// noSessions is a session store without sessions.
type noSessions struct{}

var _ authn.SessionStore = (*noSessions)(nil)

func (noSessions) Session(context.Context, string) ([]byte, error) { return nil, nil }

// GRPC creates the service's gRPC server; the caller registers the API on it. anonymous lists the full names of methods
// that need no credential.
func (s *Service) GRPC(auth grpcserver.Authenticator, anonymous ...string) (*grpcserver.Server, error) {
	deps := grpcserver.Deps{
		Telemetry: s.telemetry, Authenticator: auth, Anonymous: anonymous, Codec: s.process.Codec, OwnKeys: s.ownKeys,
		Reflection: !s.process.Config.Telemetry.Production(),
	}
	if s.cache != nil {
		deps.Responses = idempotency.NewResponses(s.cache, s.process.Name)
	}
	server, err := grpcserver.New(s.process.Config.GRPC, deps)
	if err != nil {
		return nil, fmt.Errorf("gRPC server: %w", err)
	}
	s.server = server
	return server, nil
}

// OwnKeys sets the full names of methods that store idempotency keys themselves, in the transaction of the change. The
// responses of all other POSTs are stored in the cache. It must be called before GRPC.
func (s *Service) OwnKeys(methods ...string) { s.ownKeys = methods }

// LimitUploads limits concurrent streams of requests to n, because each needs buffers of its own. It must be called
// before GRPC.
func (s *Service) LimitUploads(n int) { s.process.Config.GRPC.MaxUploads = n }

// Client returns a connection to the service name for this service's own calls, without waiting for that service. It
// returns nil for an empty address, which means that the installation lacks that service.
func (s *Service) Client(address, name string) (grpc.ClientConnInterface, error) {
	if address == "" {
		return nil, nil
	}
	conn, err := grpcclient.Dial(address, name, s.Tokens(), s.telemetry, grpcclient.WithTLS(s.process.Config.GRPC.TLS))
	if err != nil {
		return nil, fmt.Errorf("%s client: %w", name, err)
	}
	s.Close(name+" client", func(context.Context) error { return conn.Close() })
	return conn, nil
}

// Forward returns a connection to the service name for calls that carry their caller's credentials.
func (s *Service) Forward(address, name string) (*grpc.ClientConn, error) {
	conn, err := grpcclient.Connect(address, s.telemetry, grpcclient.WithTLS(s.process.Config.GRPC.TLS))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	s.Close("connection to "+name, func(context.Context) error { return conn.Close() })
	return conn, nil
}

// Connected returns a probe that fails unless conn is established, and makes an idle connection connect. It sends no
// request; the connection's keepalive pings detect a network failure.
func Connected(conn *grpc.ClientConn) func(context.Context) error {
	return func(context.Context) error {
		conn.Connect()
		if state := conn.GetState(); state != connectivity.Ready {
			return fmt.Errorf("the connection is %s", state)
		}
		return nil
	}
}
