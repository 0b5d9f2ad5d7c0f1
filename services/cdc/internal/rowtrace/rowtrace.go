// Package rowtrace owns the traces of the pipeline. The connector's records carry no trace context, so the ids of a
// change's trace are computed from what every reader of the change knows: its position in the binary log, or for a row
// of user_meta its patient and revision. The first span of a change's trace is its commit, the next one the batch that
// applies it.
//
// A change of a source row and the row of user_meta that follows from it are two traces: the commit of the second has
// a link to the batch that made it. Both end in the same eight bytes, made of the patient, by which the sampler
// decides: of a patient all changes are traced, on both ways, or none.
package rowtrace

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// maxTraced bounds the records of a batch that get a trace: in a backlog nobody reads the rest.
const maxTraced = 100

// Tracer follows rows. A nil Tracer follows none.
type Tracer struct {
	tracer  trace.Tracer
	sampler sdktrace.Sampler
}

// New returns a Tracer of the share rate of all patients, nil without tracers.
func New(tracers trace.TracerProvider, rate float64) *Tracer {
	if tracers == nil || rate <= 0 {
		return nil
	}
	return &Tracer{
		tracer:  tracers.Tracer("github.com/labplatform/labplatform/services/cdc/internal/rowtrace"),
		sampler: sdktrace.TraceIDRatioBased(rate),
	}
}

// sampled decides as the provider does for the commit's span, which another process may have made.
func (t *Tracer) sampled(span trace.SpanContext) bool {
	p := sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: span.TraceID()}
	return t.sampler.ShouldSample(p).Decision == sdktrace.RecordAndSample
}

// Batch begins the span of a batch of one partition. It belongs to the trace of the first change in it and has links to
// those of the others. end takes whether the batch was finished. A batch without changes, as one of heartbeats or of a
// snapshot, has none.
func (t *Tracer) Batch(ctx context.Context, records []change.Record) (traced context.Context, end func(finished bool)) {
	if t == nil {
		return ctx, func(bool) {}
	}
	commits := t.commits(ctx, records)
	if len(commits) == 0 {
		return ctx, func(bool) {}
	}
	first := records[0]
	links := make([]trace.Link, 0, len(commits)-1)
	for _, c := range commits[1:] {
		links = append(links, trace.Link{SpanContext: c})
	}
	//nolint:spancheck // the returned function ends it
	traced, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, commits[0]), "process "+first.Table(),
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...), trace.WithAttributes(of(first)...),
		trace.WithAttributes(semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"),
			semconv.MessagingBatchMessageCount(len(records))))
	return traced, func(finished bool) { //nolint:spancheck // see above
		if !finished {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// commits returns the first spans of the changes in records. That of a source row is made here; that of a row of
// user_meta was made by who wrote it.
func (t *Tracer) commits(ctx context.Context, records []change.Record) []trace.SpanContext {
	var commits []trace.SpanContext
	for _, r := range records {
		c, ok := read(r)
		if !ok || !t.sampled(c.span) {
			continue
		}
		if r.Table() != change.UserMeta {
			t.commit(ctx, r, c)
		}
		if commits = append(commits, c.span); len(commits) == maxTraced {
			break
		}
	}
	return commits
}

// commit makes the span from a transaction to its record's way into the broker. MariaDB tells whole seconds. A record
// that comes again makes it again, with the same ids.
func (t *Tracer) commit(ctx context.Context, r change.Record, c committed) {
	begin := time.UnixMilli(c.source.TsMs)
	if r.Timestamp.Before(begin) {
		begin = r.Timestamp
	}
	_, span := t.tracer.Start(telemetry.WithIdentity(ctx, c.span), "commit "+r.Table(), trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindProducer), trace.WithTimestamp(begin), trace.WithAttributes(of(r)...),
		trace.WithAttributes(semconv.DBCollectionName(r.Table()),
			attribute.String("cdc.source.position", c.source.File+":"+strconv.FormatInt(c.source.Pos, 10))))
	span.End(trace.WithTimestamp(r.Timestamp))
}

// Written makes the commit of a row of user_meta, when it is written within a trace. It has a link to what wrote it.
func (t *Tracer) Written(ctx context.Context, userID, rev int64) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	_, span := t.tracer.Start(telemetry.WithIdentity(ctx, projected(userID, rev)), "commit "+change.UserMeta,
		trace.WithNewRoot(), trace.WithLinks(trace.LinkFromContext(ctx)), trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(semconv.DBCollectionName(change.UserMeta), attribute.Int64("cdc.user_meta.rev", rev)))
	span.End()
}

// of returns where a record stands.
func of(r change.Record) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKafka, semconv.MessagingDestinationName(r.Topic),
		semconv.MessagingDestinationPartitionID(strconv.Itoa(int(r.Partition))),
		semconv.MessagingKafkaOffset(int(r.Offset)),
	}
}
