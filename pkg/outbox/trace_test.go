package outbox_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
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
