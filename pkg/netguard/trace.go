package netguard

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const traceparentHeader = "Traceparent"

// traced starts the span of a request, if ctx has a recorded trace. The span has the receiver's name, but neither path
// nor query, which may contain credentials or values. The span's traceparent replaces the header of q. end records the
// outcome.
func traced(ctx context.Context, q Request) (Request, func(*Response, error)) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return q, func(*Response, error) {}
	}
	tracer := trace.SpanFromContext(ctx).TracerProvider().Tracer("github.com/labplatform/labplatform/pkg/netguard")
	ctx, span := tracer.Start(ctx, q.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		semconv.HTTPRequestMethodKey.String(q.Method),
		semconv.ServerAddress(q.URL.Hostname()), semconv.ServerPort(port(q.URL))))
	if q.Header.Get(traceparentHeader) != "" {
		q.Header = q.Header.Clone()
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(q.Header))
	}
	return q, func(response *Response, err error) {
		defer span.End()
		switch {
		case response != nil:
			span.SetAttributes(semconv.HTTPResponseStatusCode(response.Status))
			if response.Status >= http.StatusBadRequest {
				span.SetStatus(codes.Error, "")
				span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(response.Status)))
			}
		case err != nil:
			span.SetStatus(codes.Error, "") // the error's text may contain the URL
			span.SetAttributes(semconv.ErrorTypeKey.String(reason(err)))
		}
	}
}

func reason(err error) string {
	if errors.Is(err, ErrRefused) {
		return "refused"
	}
	return CauseOf(err).Reason
}
