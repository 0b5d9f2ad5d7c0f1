package submit

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// produced starts the span for accepting tasks, if the request is traced. The executions of the jobs continue it. The
// span has the channel of the first task; most requests have only one.
func produced(ctx context.Context, planned []Planned) (context.Context, trace.Span) {
	channel := planned[0].Lane.Channel.String()
	tracer := trace.SpanFromContext(ctx).TracerProvider().Tracer("github.com/labplatform/labplatform/services/taskqueue")
	//nolint:spancheck // the caller ends it
	return tracer.Start(ctx, "send "+channel, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		semconv.MessagingSystemKey.String("taskqueue"), semconv.MessagingOperationTypeSend,
		semconv.MessagingOperationName("send"), semconv.MessagingDestinationName(channel),
		semconv.MessagingBatchMessageCount(len(planned))))
}

// traceparent returns the W3C trace context of ctx, or an empty string if there is no trace.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}
