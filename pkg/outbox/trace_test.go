package outbox_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
)

func TestDeliveryContinuesTheTraceOfItsChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	change := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	for payload, ctx := range map[string]context.Context{
		"traced": trace.ContextWithSpanContext(t.Context(), change), "untraced": t.Context(),
	} {
		err := mysqldb.InTx(ctx, b.db, func(tx *sql.Tx) error {
			_, err := b.table.Insert(ctx, tx, b.clock.Now(), outbox.Event{Aggregate: payload, Kind: "k", Payload: []byte(payload)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]trace.TraceID{}
	b.relay = b.newRelay(prometheus.NewRegistry(), func(ctx context.Context, row outbox.Row) error {
		got[string(row.Payload)] = trace.SpanContextFromContext(ctx).TraceID()
		return nil
	})
	if _, err := b.relay.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got["traced"] != change.TraceID() || got["untraced"].IsValid() || len(got) != 2 {
		t.Fatalf("traces of the deliveries = %v, want the change's and none", got)
	}
}

func TestAMessageIsASpanThatItsDeliveryContinues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spans := tracetest.NewSpanRecorder()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	ctx, request := tracers.Tracer("test").Start(t.Context(), "request")
	err := mysqldb.InTx(ctx, b.db, func(tx *sql.Tx) error {
		_, err := b.table.Insert(ctx, tx, b.clock.Now(), outbox.Event{Aggregate: "Canary", Kind: "k", Payload: []byte("Canary")})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sent := spans.Ended()
	if len(sent) != 1 || sent[0].Name() != "send k" || sent[0].SpanKind() != trace.SpanKindProducer ||
		sent[0].Parent().SpanID() != request.SpanContext().SpanID() {
		t.Fatalf("spans = %v, want a producer's, below the request's", sent)
	}
	for _, a := range sent[0].Attributes() {
		if a.Value.String() == "Canary" {
			t.Errorf("attribute %s has a value of the message", a.Key)
		}
	}
	var parent trace.SpanID
	b.relay = b.newRelay(prometheus.NewRegistry(), func(ctx context.Context, _ outbox.Row) error {
		parent = trace.SpanContextFromContext(ctx).SpanID()
		return nil
	})
	if _, err := b.relay.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if parent != sent[0].SpanContext().SpanID() {
		t.Errorf("the delivery continues span %v, want %v of the producer", parent, sent[0].SpanContext().SpanID())
	}
}
