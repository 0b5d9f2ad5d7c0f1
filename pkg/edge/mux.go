package edge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/labjson"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/rpcerr"
)

// Mux is the generated mux of one area with the platform's error handling and header rules.
type Mux struct {
	*runtime.ServeMux
	area   *Area
	routes routeTable // routes of all areas
	// connection asks for admission; nil for paths of no area.
	connection grpc.ClientConnInterface
	streams    *openStreams // shared by all areas
}

// muxes holds one mux per area. A single mux for all areas would compare a path with the routes of every service, which
// was the most expensive part of a request.
type muxes map[*Area]*Mux

// newMuxes returns the muxes over one connection per area. An area without a connection responds with 501, a path of no
// area with 404.
func newMuxes(ctx context.Context, all areas, connections map[string]grpc.ClientConnInterface) (muxes, error) {
	routes := Routes(all)
	found, streams := muxes{unknownArea: newMux(unknownArea, routes)}, newOpenStreams()
	for _, a := range all {
		connection, ok := connections[a.Name]
		if !ok {
			connection = notDeployed{a}
		}
		m := newMux(a, routes)
		m.connection, m.streams = a.receive(connection), streams
		if err := m.register(ctx, m.connection); err != nil {
			return nil, err
		}
		found[a] = m
	}
	return found, nil
}

func newMux(a *Area, routes routeTable) *Mux {
	setQueryParser()
	m := &Mux{area: a, routes: routes}
	m.ServeMux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.HTTPBodyMarshaler{Marshaler: codec{}}),
		runtime.WithIncomingHeaderMatcher(matchIncoming),
		runtime.WithOutgoingHeaderMatcher(matchOutgoing),
		runtime.WithOutgoingTrailerMatcher(dropHeader),
		runtime.WithErrorHandler(m.handleError),
		runtime.WithRoutingErrorHandler(m.handleRouting),
		runtime.WithForwardResponseOption(forward),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		// The mux splits the path as keepSegments leaves it, then decodes the segments.
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptReserved),
		runtime.WithWriteContentLength(),
	)
	return m
}

// register adds the area's paths; calls go over connection.
func (m *Mux) register(ctx context.Context, connection grpc.ClientConnInterface) error {
	if err := m.area.Register(ctx, m, connection); err != nil {
		return fmt.Errorf("register %s: %w", m.area.Name, err)
	}
	for _, s := range m.area.Streams {
		if err := m.handleStream(s, connection); err != nil {
			return fmt.Errorf("register %s: %w", s.Path, err)
		}
	}
	return nil
}

// serve passes on a request that the listener has accepted. It clears host and remote address, which grpc-gateway would
// copy into metadata that no service reads.
func (all muxes) serve(c *call, r *http.Request) {
	r.Host, r.RemoteAddr = "", ""
	plainType(r.Header)
	m := all[c.area]
	if err := unsupported(r); err != "" {
		c.Header().Set("Accept-Encoding", "identity")
		httpserver.WriteJSON(c, http.StatusUnsupportedMediaType, m.area.Shape(http.StatusUnsupportedMediaType,
			apperr.New(apperr.Invalid, "UNSUPPORTED_MEDIA_TYPE", err)))
		return
	}
	if r.Method == http.MethodHead && m.routes.answersHead(routed(r)) {
		r.Method = http.MethodGet // net/http omits the body, because its own request still has the method HEAD
	}
	if large(r) && m.refused(c, r) {
		return
	}
	m.ServeHTTP(c, r)
}

// ResponseFunc returns the response to a request on a path without generated code. It must pass option to its call of a
// service, so that the service's response headers can be forwarded.
type ResponseFunc func(
	ctx context.Context, r *http.Request, params map[string]string, option grpc.CallOption,
) (proto.Message, error)

// HandleUpload adds a path whose body respond reads itself. Errors of respond are handled like those of a service.
func (m *Mux) HandleUpload(route Route, respond ResponseFunc) error {
	return m.HandleWithHeader(route, nil, respond)
}

// HandleWithHeader adds a path whose successful responses have the given headers; error responses do not.
func (m *Mux) HandleWithHeader(route Route, header map[string]string, respond ResponseFunc) error {
	return m.HandlePath(route.Method, route.Path, func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		ctx, err := runtime.AnnotateContext(r.Context(), m.ServeMux, r, route.RPC, runtime.WithHTTPPathPattern(route.Path))
		if err != nil {
			m.handleError(r.Context(), m.ServeMux, codec{}, w, r, err)
			return
		}
		var md runtime.ServerMetadata
		message, err := respond(ctx, r, params, grpc.Header(&md.HeaderMD))
		ctx = runtime.NewServerMetadataContext(ctx, md)
		if err != nil {
			m.handleError(ctx, m.ServeMux, codec{}, w, r, err)
			return
		}
		for name, value := range header {
			w.Header().Set(name, value)
		}
		out := &runtime.HTTPBodyMarshaler{Marshaler: codec{}}
		runtime.ForwardResponseMessage(ctx, m.ServeMux, out, w, r, message, m.GetForwardResponseOptions()...)
	})
}

// outgoing are the response headers of services that are passed on; the edge sets all others.
var outgoing = map[string]string{
	"etag": "ETag", idempotency.ReplayedHeader: "Idempotent-Replayed",
	ratelimit.PolicyHeader: "RateLimit-Policy", ratelimit.StateHeader: "RateLimit",
}

func matchOutgoing(key string) (string, bool) {
	name, ok := outgoing[key]
	return name, ok
}

// dropHeader discards the trailers of services.
func dropHeader(string) (string, bool) { return "", false }

// forward records the route and applies a 4xx status that the service has set.
func forward(ctx context.Context, w http.ResponseWriter, _ proto.Message) error {
	noteRoute(ctx)
	md, ok := runtime.ServerMetadataFromContext(ctx)
	if !ok {
		return nil
	}
	values := md.HeaderMD.Get(rpcerr.StatusMetadata)
	if len(values) == 0 {
		return nil
	}
	if code, err := strconv.Atoi(values[0]); err == nil && code >= 400 && code < 500 {
		w.WriteHeader(code)
	}
	return nil
}

// codec is labjson's codec; it keeps decoding errors for handleError.
type codec struct{ labjson.Codec }

var _ runtime.Marshaler = (*codec)(nil)

func (c codec) NewDecoder(r io.Reader) runtime.Decoder {
	return keepError(r, c.Codec.NewDecoder(r).Decode)
}
