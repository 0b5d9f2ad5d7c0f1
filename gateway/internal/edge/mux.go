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

	"github.com/labplatform/labplatform/pkg/labjson"
	"github.com/labplatform/labplatform/pkg/rest"
)

// statusMetadata is set by a handler whose documented answer is a normal body with another status than 200.
const statusMetadata = "x-http-code"

// muxer is the generated mux with the platform's rules.
type muxer struct {
	*runtime.ServeMux
	routes routeTable
}

// newMux returns the mux over one connection per area; an area without one answers 501.
func newMux(ctx context.Context, connections map[string]grpc.ClientConnInterface) (*muxer, error) {
	m := &muxer{routes: Routes()}
	m.ServeMux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.HTTPBodyMarshaler{Marshaler: codec{}}),
		runtime.WithIncomingHeaderMatcher(rest.MatchIncoming),
		runtime.WithOutgoingHeaderMatcher(dropHeader),
		runtime.WithOutgoingTrailerMatcher(dropHeader),
		runtime.WithErrorHandler(m.handleError),
		runtime.WithRoutingErrorHandler(m.handleRouting),
		runtime.WithForwardResponseOption(forward),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
	)
	for _, a := range areas {
		connection, ok := connections[a.name]
		if !ok {
			connection = notDeployed{a}
		}
		if err := a.register(ctx, m.ServeMux, connection); err != nil {
			return nil, fmt.Errorf("register %s: %w", a.name, err)
		}
		if a.name == "externaledit" {
			if err := m.registerUpload(connection); err != nil {
				return nil, fmt.Errorf("register upload: %w", err)
			}
		}
	}
	return m, nil
}

// dropHeader keeps every header of the services inside: what callers see is decided here.
func dropHeader(string) (string, bool) { return "", false }

// forward notes the route and applies a status that the service chose.
func forward(ctx context.Context, w http.ResponseWriter, _ proto.Message) error {
	noteRoute(ctx)
	md, ok := runtime.ServerMetadataFromContext(ctx)
	if !ok {
		return nil
	}
	values := md.HeaderMD.Get(statusMetadata)
	if len(values) == 0 {
		return nil
	}
	if code, err := strconv.Atoi(values[0]); err == nil && code >= 400 && code < 500 {
		w.WriteHeader(code)
	}
	return nil
}

// codec is labjson with decode errors kept for handleError.
type codec struct{ labjson.Codec }

// NewDecoder implements runtime.Marshaler.
func (c codec) NewDecoder(r io.Reader) runtime.Decoder {
	return keepError(r, c.Codec.NewDecoder(r).Decode)
}
