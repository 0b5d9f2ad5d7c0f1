// Package grpcclient connects services: every unary call on a connection of Dial gets a new service token and a
// deadline, and the server's errors are returned as apperr errors.
package grpcclient

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

const (
	defaultDeadline  = 5 * time.Second
	keepaliveTimeout = 10 * time.Second
	windowBytes      = 1 << 20
	// keepaliveTime is the interval of pings on connections without traffic, also while no call is running. Without them a
	// firewall would close idle connections, and a call sent at that moment would fail. It is above the minimum that
	// servers allow.
	keepaliveTime = 20 * time.Second
)

// reconnect retries quickly: an address that was unavailable is used again within about two seconds, and a new one as
// soon as name resolution returns it (see Names). gRPC's default would wait up to two minutes.
var reconnect = grpc.ConnectParams{
	Backoff: backoff.Config{
		BaseDelay:  100 * time.Millisecond,
		Multiplier: 1.6,
		Jitter:     0.2,
		MaxDelay:   2 * time.Second,
	},
	MinConnectTimeout: 5 * time.Second,
}

// Connect returns a connection that adds no credentials and no deadline to calls; with tracing, it adds the trace
// context. It is for the gateway, which forwards the caller's credentials. address is host:port, or
// dns://SERVER/host:port to use a specific name server. Connect does not wait for the server. The caller must close the
// connection.
func Connect(address string, t *telemetry.Telemetry, extra ...grpc.DialOption) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()), // WithTLS overrides it
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout,
			PermitWithoutStream: true}),
		grpc.WithConnectParams(reconnect),
		// Calls are not retried here and connections are kept open; buffers for retries and idle bookkeeping would cost a
		// microsecond each per call.
		grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
		// A dynamic window costs a ping on most calls; this static one is wide enough within a data centre.
		grpc.WithStaticStreamWindowSize(windowBytes), grpc.WithStaticConnWindowSize(windowBytes),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
	}
	if t.Tracing {
		options = append(options, grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(t.Tracers))))
	}
	options = append(options, extra...)
	conn, err := grpc.NewClient(address, append(options, grpc.WithResolvers(Names(lookUp)))...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return conn, nil
}

// WithTLS returns the option that encrypts a connection with the files of c, or an empty option if there are none.
func WithTLS(c tlsfiles.Config) grpc.DialOption {
	if !c.Enabled() {
		return grpc.EmptyDialOption{}
	}
	return grpc.WithTransportCredentials(c.Credentials())
}

// Dial returns a connection to the service audience for the caller's own calls. Each unary call carries a new service
// token, the id of the request that it belongs to, and a deadline of five seconds unless the context has one. Errors
// are apperr errors; a refusal that the caller does not handle is rendered as its own 503.
func Dial(
	address, audience string,
	tokens *authn.ServiceTokens,
	t *telemetry.Telemetry,
	extra ...grpc.DialOption,
) (*grpc.ClientConn, error) {
	return Connect(address, t, append(extra, grpc.WithChainUnaryInterceptor(unary(audience, tokens)))...)
}

func unary(audience string, tokens *authn.ServiceTokens) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		token, err := tokens.Mint(audience, "")
		if err != nil {
			return err
		}
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, defaultDeadline)
			defer cancel()
		}
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		if id := telemetry.RequestID(ctx); id != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "x-request-id", id)
		}
		return rpcerr.FromUpstream(audience, invoke(ctx, method, req, reply, cc, opts...))
	}
}
