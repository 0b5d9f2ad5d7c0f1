package batchtrace_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/batchtrace"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

func TestASpanSaysWhichRecordsAndHowOldTheyWere(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	tracer := batchtrace.New(provider, clock.Fixed(now))
	record := func(table string, offset int64) change.Record {
		return change.Record{Topic: "lab.lab." + table, Partition: 3, Offset: offset, Timestamp: now.Add(-90 * time.Second)}
	}
	_, end := tracer.Batch(t.Context(), []change.Record{record(change.Billing, 7), record(change.Billing, 8)})
	end(false)
	_, end = tracer.Batch(t.Context(), []change.Record{record(change.Heartbeat, 1)})
	end(true)
	_, end = batchtrace.New(nil, clock.Fixed(now)).Batch(t.Context(), []change.Record{record(change.Billing, 9)})
	end(true)
	ended := spans.Ended()
	if len(ended) != 1 || ended[0].Name() != "process billing" || ended[0].Status().Code != codes.Error {
		t.Fatalf("%d spans: %v", len(ended), ended)
	}
	got := map[attribute.Key]attribute.Value{}
	for _, a := range ended[0].Attributes() {
		got[a.Key] = a.Value
	}
	if got["cdc.last_offset"].AsInt64() != 8 || got["cdc.lag_seconds"].AsFloat64() != 90 || got["messaging.batch.message_count"].AsInt64() != 2 {
		t.Errorf("%v", got)
	}
}
