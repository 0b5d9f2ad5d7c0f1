// Package batchtrace creates a span for each batch of records, with its partition, offsets and age. The batch's
// statements and requests become child spans.
package batchtrace

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// Tracer creates the spans. A nil Tracer creates none.
type Tracer struct {
	tracer trace.Tracer
	clock  clock.Clock
}

// New returns a Tracer, or nil if tracers is nil.
func New(tracers trace.TracerProvider, c clock.Clock) *Tracer {
	if tracers == nil {
		return nil
	}
	return &Tracer{tracers.Tracer("github.com/labplatform/labplatform/services/cdc/internal/batchtrace"), c}
}

// Batch starts the span of a batch of one partition. end finishes it and records whether the batch was finished.
// Batches of heartbeats have no span, because one arrives every second.
func (t *Tracer) Batch(ctx context.Context, records []change.Record) (traced context.Context, end func(finished bool)) {
	first, last := records[0], records[len(records)-1]
	if t == nil || first.Table() == change.Heartbeat {
		return ctx, func(bool) {}
	}
	//nolint:spancheck // the returned function ends it
	traced, span := t.tracer.Start(ctx, "process "+first.Table(), trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			semconv.MessagingSystemKafka, semconv.MessagingDestinationName(first.Topic),
			semconv.MessagingDestinationPartitionID(strconv.Itoa(int(first.Partition))),
			semconv.MessagingKafkaOffset(int(first.Offset)), attribute.Int64("cdc.last_offset", last.Offset),
			attribute.Float64("cdc.lag_seconds", t.clock.Now().Sub(first.Timestamp).Seconds()),
			semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"),
			semconv.MessagingBatchMessageCount(len(records))))
	return traced, func(finished bool) { //nolint:spancheck // the returned function ends the span
		if !finished {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
