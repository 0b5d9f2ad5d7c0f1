package edge

import (
	"context"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/labplatform/labplatform/pkg/grpcserver"
)

// uncheckedBytes is the largest body, in bytes, that is read before the service has authenticated the caller.
const uncheckedBytes = 64 << 10

// admissionDeadline limits the call that asks the service whether it admits the caller.
const admissionDeadline = 5 * time.Second

// large reports whether the body of r is larger than uncheckedBytes or has no known length.
func large(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && (r.ContentLength < 0 || r.ContentLength > uncheckedBytes)
}

// refused asks the service, before the body of r is read, whether it admits the caller. If not, it writes the error
// response and returns true.
func (m *Mux) refused(c *call, r *http.Request) bool {
	route, ok := m.routes.find(r.Method, routed(r))
	if !ok || m.connection == nil {
		return false // no call of a service follows; the mux responds
	}
	ctx, err := runtime.AnnotateContext(r.Context(), m.ServeMux, r, route.RPC, runtime.WithHTTPPathPattern(route.Path))
	if err == nil {
		asking := metadata.AppendToOutgoingContext(ctx, grpcserver.AdmissionHeader, "1")
		ask, cancel := context.WithTimeout(asking, admissionDeadline)
		defer cancel()
		err = m.connection.Invoke(ask, route.RPC, &emptypb.Empty{}, &emptypb.Empty{}, grpc.WaitForReady(false))
	}
	if err == nil {
		return false
	}
	c.Header().Set("Connection", "close")
	m.handleError(ctx, m.ServeMux, codec{}, c, r, err)
	return true
}
