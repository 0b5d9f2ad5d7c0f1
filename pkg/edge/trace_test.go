package edge_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

func TestExternalTraceIsALinkAndAServicesTraceIsTheParent(t *testing.T) {
	t.Parallel()
	const remote = "4bf92f3577b34da6a3ce929d0e0e4736"
	spans := tracetest.NewSpanRecorder()
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	tel.Tracing, tel.Tracers = true, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	tokens := func(name string) *authn.ServiceTokens {
		return authn.NewServiceTokens(config.Secret("0123456789abcdef0123456789abcdef"), name, clock.System{})
	}
	inside := &metadataKeeper{}
	e, err := edge.New(t.Context(), edge.Deps{
		Telemetry: tel, Areas: []*edge.Area{edge.UserSearch()}, Tokens: tokens("gateway"),
		Connections: map[string]grpc.ClientConnInterface{"search": inside},
	})
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens("core").Mint("gateway", "")
	if err != nil {
		t.Fatal(err)
	}
	send := func(method string, handler http.Handler) sdktrace.ReadOnlySpan {
		request := httptest.NewRequestWithContext(t.Context(), method, "/api/v1/users/501", nil)
		request.Header.Set("Traceparent", "00-"+remote+"-00f067aa0ba902b7-01")
		request.Header.Set("Tracestate", "vendor=1")
		request.Header.Set("Baggage", "user=Rahul")
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("X-Is-Internal-Request", "True")
		handler.ServeHTTP(httptest.NewRecorder(), request)
		ended := spans.Ended()
		return ended[len(ended)-1]
	}
	internal := send(http.MethodGet, e.Internal())
	if internal.Parent().TraceID().String() != remote {
		t.Errorf("parent of a service's request = %v, want its trace", internal.Parent())
	}
	if got := inside.md.Get("baggage"); len(got) != 0 {
		t.Errorf("baggage forwarded = %q, want none", got)
	}
	public := send(http.MethodGet, e.Public())
	links := public.Links()
	if public.Parent().IsValid() || len(links) != 1 || links[0].SpanContext.TraceID().String() != remote {
		t.Errorf("external trace: parent = %v, links = %v, want one link and no parent", public.Parent(), links)
	}
	if got := send("BREW", e.Public()).Name(); got != "HTTP" {
		t.Errorf("span of an unknown method = %q, want HTTP", got)
	}
}

func TestExternalTraceIsStrippedWithTracingOff(t *testing.T) {
	t.Parallel()
	inside := &metadataKeeper{}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/users/501", nil)
	request.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	request.Header.Set("Tracestate", "vendor=1")
	listener(t, inside).ServeHTTP(httptest.NewRecorder(), request)
	if inside.md == nil || len(inside.md.Get("traceparent"))+len(inside.md.Get("tracestate")) != 0 {
		t.Errorf("metadata = %v, want no trace", inside.md)
	}
}

// metadataKeeper is a service that keeps the metadata of the last call.
type metadataKeeper struct {
	backend
	md metadata.MD
}

func (k *metadataKeeper) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	k.md, _ = metadata.FromOutgoingContext(ctx)
	return k.backend.Invoke(ctx, method, in, out, opts...)
}
