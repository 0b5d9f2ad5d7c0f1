package outbox

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

const traceparentHeader = "traceparent"

// traceparent returns the W3C trace context of ctx; empty if nothing is traced.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get(traceparentHeader)
}

const scope = "github.com/labplatform/labplatform/pkg/outbox"

// produced starts the span of an Insert within a recorded trace. The message's deliveries continue it. The caller must
// end the span.
func (t Table) produced(ctx context.Context, kind string) (context.Context, trace.Span) {
	tracer := trace.SpanFromContext(ctx).TracerProvider().Tracer(scope)
	//nolint:spancheck // the caller ends it
	return tracer.Start(ctx, "send "+kind, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		semconv.MessagingSystemKey.String("outbox"), semconv.MessagingOperationTypeSend,
		semconv.MessagingOperationName("send"), semconv.MessagingDestinationName(t.name)))
}

// traced returns ctx with the trace and the request id of the change, for log lines and the receiver.
func (r Row) traced(ctx context.Context) context.Context {
	ctx = telemetry.WithRequestID(ctx, r.RequestID)
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparentHeader: r.Traceparent})
}

// span starts the span of one attempt. end records its outcome.
func (l *lane) span(ctx context.Context, row Row) (traced context.Context, end func(error)) {
	if l.d.Tracers == nil || row.Traceparent == "" {
		return ctx, func(error) {}
	}
	//nolint:spancheck // the returned function ends it
	traced, span := l.d.Tracers.Tracer(scope).Start(ctx, "process "+row.Kind,
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			semconv.MessagingSystemKey.String("outbox"), semconv.MessagingOperationTypeProcess,
			semconv.MessagingOperationName("process"), semconv.MessagingDestinationName(l.d.Table.name),
			semconv.MessagingMessageID(row.Key(l.d.Table.name))))
	return traced, func(err error) { //nolint:spancheck // see above
		if err != nil {
			span.SetStatus(codes.Error, "") // the text of an error may quote values
		}
		span.End()
	}
}
