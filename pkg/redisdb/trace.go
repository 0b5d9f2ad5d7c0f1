package redisdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Trace creates a span for every command that client sends within a trace. Commands of background loops, which belong
// to no request, get none. Nil tracers change nothing.
func Trace(client redis.UniversalClient, tracers trace.TracerProvider) {
	if tracers != nil {
		client.AddHook(tracing{tracers.Tracer("github.com/labplatform/labplatform/pkg/redisdb"), server(client)})
	}
}

// server returns the address in the options of client: the first one of a cluster, none behind sentinels.
func server(client redis.UniversalClient) []attribute.KeyValue {
	var address string
	switch c := client.(type) {
	case *redis.Client:
		address = c.Options().Addr
	case *redis.ClusterClient:
		address = c.Options().Addrs[0]
	}
	host, text, err := net.SplitHostPort(address)
	port, wrong := strconv.Atoi(text)
	if err != nil || wrong != nil {
		return nil
	}
	return []attribute.KeyValue{semconv.ServerAddress(host), semconv.ServerPort(port)}
}

// tracing records the names of commands, never their arguments, because keys contain values from callers.
type tracing struct {
	tracer trace.Tracer
	server []attribute.KeyValue
}

func (tracing) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return next(ctx, network, address)
	}
}

func (t tracing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, end := t.start(ctx, cmd.FullName())
		err := next(ctx, cmd)
		end(err)
		return err
	}
}

func (t tracing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, end := t.start(ctx, "PIPELINE", semconv.DBOperationBatchSize(len(cmds)))
		err := next(ctx, cmds)
		end(err)
		return err
	}
}

func (t tracing) start(
	ctx context.Context,
	operation string,
	more ...attribute.KeyValue,
) (context.Context, func(error)) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, func(error) {}
	}
	//nolint:spancheck // the returned function ends it
	ctx, span := t.tracer.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(semconv.DBSystemNameRedis, semconv.DBOperationName(operation)),
		trace.WithAttributes(t.server...), trace.WithAttributes(more...))
	return ctx, func(err error) { //nolint:spancheck // see above
		if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "NOSCRIPT") { // EVAL follows after NOSCRIPT
			span.SetStatus(codes.Error, "") // the text of an error may quote values
			span.SetAttributes(semconv.ErrorTypeKey.String(fmt.Sprintf("%T", err)))
		}
		span.End()
	}
}
