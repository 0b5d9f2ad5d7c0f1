package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/edge"
)

// area returns the handler of the REST paths. It forwards calls to the service's own gRPC port, so that all calls pass
// the same interceptors.
func (b *builder) area(ctx context.Context) (http.Handler, error) {
	own, err := b.Forward(net.JoinHostPort(b.loopback(), strconv.Itoa(b.cfg.GRPC.GRPCPort)), Name)
	if err != nil {
		return nil, err
	}
	gateway, err := edge.New(ctx, edge.Deps{
		Telemetry: b.Telemetry(), Areas: []*edge.Area{edge.UserSearch()},
		Connections: map[string]grpc.ClientConnInterface{Name: own},
	})
	if err != nil {
		return nil, fmt.Errorf("build REST paths: %w", err)
	}
	return gateway.Public(), nil
}

// loopback returns the host under which the process can reach its own listener.
func (b *builder) loopback() string {
	switch ip := net.ParseIP(b.cfg.GRPC.Host); {
	case ip == nil || !ip.IsUnspecified():
		return b.cfg.GRPC.Host
	case ip.To4() != nil:
		return "127.0.0.1"
	default:
		return "::1"
	}
}
