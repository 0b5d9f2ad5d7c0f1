// Package tracing collects traces for tests and for trying the platform. It receives spans by OTLP over gRPC on a port
// of this machine, keeps them in memory, and prints them as a tree.
package tracing

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"sync"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Span is one received span. Resource is the attributes of its process.
type Span struct {
	Trace, ID, Parent    string
	Name                 string
	Kind                 otlp.Span_SpanKind
	Begin, End           uint64 // ns since 1970
	Attributes, Resource map[string]string
	Authorization        string
	Links                []Link
}

// Link is a reference to another span that is not the parent.
type Link struct{ Trace, ID string }

// Service returns the service name of the span's process.
func (s Span) Service() string { return s.Resource["service.name"] }

// Collector receives spans until Close.
type Collector struct {
	collector.UnimplementedTraceServiceServer

	Address string
	most    int
	server  *grpc.Server

	mu    sync.Mutex
	spans []Span // guarded by mu
}

// Listen starts a collector on a free port. It keeps all spans.
func Listen(ctx context.Context) (*Collector, error) { return ListenOn(ctx, "127.0.0.1:0", 0) }

// ListenOn starts a collector on address. It keeps the newest spans, at most that many; 0 keeps all.
func ListenOn(ctx context.Context, address string, most int) (*Collector, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for traces: %w", err)
	}
	c := &Collector{Address: listener.Addr().String(), most: most, server: grpc.NewServer()}
	collector.RegisterTraceServiceServer(c.server, c)
	go func() { _ = c.server.Serve(listener) }() // returns after Close
	return c, nil
}

// Close stops the collector.
func (c *Collector) Close() { c.server.Stop() }

// Export stores the spans of one OTLP request.
func (c *Collector) Export(
	ctx context.Context,
	r *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	header, _ := metadata.FromIncomingContext(ctx)
	authorization := ""
	if values := header.Get("authorization"); len(values) > 0 {
		authorization = values[0]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, process := range r.GetResourceSpans() {
		resource := attributes(process.GetResource().GetAttributes())
		for _, scope := range process.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, Span{
					Trace: hex.EncodeToString(s.GetTraceId()),
					ID:    hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(
						s.GetParentSpanId(),
					),
					Name:          s.GetName(),
					Kind:          s.GetKind(),
					Begin:         s.GetStartTimeUnixNano(),
					End:           s.GetEndTimeUnixNano(),
					Attributes:    attributes(s.GetAttributes()),
					Resource:      resource,
					Authorization: authorization,
					Links:         links(s.GetLinks()),
				})
			}
		}
	}
	if c.most > 0 && len(c.spans) > c.most {
		c.spans = slices.Delete(c.spans, 0, len(c.spans)-c.most)
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// All returns the spans kept so far.
func (c *Collector) All() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

func links(list []*otlp.Span_Link) []Link {
	var out []Link
	for _, l := range list {
		out = append(out, Link{hex.EncodeToString(l.GetTraceId()), hex.EncodeToString(l.GetSpanId())})
	}
	return out
}

func attributes(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.GetKey()] = fmt.Sprint(v.IntValue)
		default:
			out[a.GetKey()] = a.GetValue().String()
		}
	}
	return out
}
