package worker

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const traceparentHeader = "traceparent"

// Traced wraps h so that every execution of a job has a span in the trace of the request that enqueued it. Requests of
// the handler continue the trace. If tracers is nil, it returns h.
func Traced(h Handler, tracers trace.TracerProvider) Handler {
	if tracers == nil {
		return h
	}
	return &traced{Handler: h, tracer: tracers.Tracer("github.com/labplatform/labplatform/services/taskqueue")}
}

type traced struct {
	Handler

	tracer trace.Tracer
}

// Handle passes a copy of the body with its own trace context to the handler. The original keeps the context of the
// enqueuing request, which its callbacks use.
func (t *traced) Handle(ctx context.Context, d Delivery) (job.Result, error) {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparentHeader: d.Body.Traceparent})
	channel := d.ID.Lane().Channel.String()
	ctx, span := t.tracer.Start(ctx, "process "+channel, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		semconv.MessagingSystemKey.String("taskqueue"), semconv.MessagingOperationTypeProcess,
		semconv.MessagingOperationName("process"), semconv.MessagingDestinationName(channel),
		semconv.MessagingMessageID(string(d.ID))))
	defer span.End()
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	body := *d.Body
	body.Traceparent = carrier.Get(traceparentHeader)
	d.Body = &body
	result, err := t.Handler.Handle(ctx, d)
	if result.HTTPStatus != 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(result.HTTPStatus))
	}
	if err != nil {
		span.SetStatus(codes.Error, job.AsFailure(err).Reason) // not Message, which may contain the response
	}
	return result, err
}
