package mongo

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// command identifies a running command.
type command struct {
	connection string
	request    int64
}

// tracing creates a span for every command that belongs to a trace. Commands of loops, which belong to no request, get
// none. Spans contain the names of operations and collections, but no content of commands.
type tracing struct {
	tracer trace.Tracer

	mu    sync.Mutex
	spans map[command]trace.Span // guarded by mu
}

func newTracing(tracers trace.TracerProvider) *event.CommandMonitor {
	t := &tracing{
		tracer: tracers.Tracer("github.com/labplatform/labplatform/services/rerun/internal/store/mongo"),
		spans:  map[command]trace.Span{},
	}
	return &event.CommandMonitor{
		Started: t.start,
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			t.end(command{e.ConnectionID, e.RequestID}, nil)
		},
		Failed: func(_ context.Context, e *event.CommandFailedEvent) {
			t.end(command{e.ConnectionID, e.RequestID}, e.Failure)
		},
	}
}

func (t *tracing) start(ctx context.Context, e *event.CommandStartedEvent) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	name := e.CommandName
	attributes := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		semconv.DBSystemNameMongoDB, semconv.DBNamespace(e.DatabaseName), semconv.DBOperationName(e.CommandName)),
		trace.WithAttributes(server(e.ConnectionID)...)}
	// The first element of a command has its name as key and, if the command concerns a collection, the collection as
	// value.
	if collection, ok := e.Command.Lookup(e.CommandName).StringValueOK(); ok {
		name += " " + collection
		attributes = append(attributes, trace.WithAttributes(semconv.DBCollectionName(collection)))
	}
	_, span := t.tracer.Start(ctx, name, attributes...) //nolint:spancheck // the function end ends the span
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans[command{e.ConnectionID, e.RequestID}] = span
} //nolint:spancheck // see above

// server returns the address in a connection id, host:port[-number].
func server(connection string) []attribute.KeyValue {
	address, _, _ := strings.Cut(connection, "[-")
	host, text, err := net.SplitHostPort(address)
	port, wrong := strconv.Atoi(text)
	if err != nil || wrong != nil {
		return nil
	}
	return []attribute.KeyValue{semconv.ServerAddress(host), semconv.ServerPort(port)}
}

func (t *tracing) end(c command, failure error) {
	t.mu.Lock()
	span := t.spans[c]
	delete(t.spans, c)
	t.mu.Unlock()
	if span == nil {
		return
	}
	if failure != nil {
		span.SetStatus(codes.Error, "") // without a text, because errors may quote values
		span.SetAttributes(semconv.ErrorTypeKey.String(fmt.Sprintf("%T", failure)))
	}
	span.End()
}
