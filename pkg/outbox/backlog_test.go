package outbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

// With 60,000 waiting rows of kind k, the gauge must show maxCounted + 1, which means more than it counts.
func TestLongBacklogIsNotCountedCompletely(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const rows = 60_000
	insert := "INSERT INTO outbox_test (aggregate, kind, payload, created_at, available_at)" +
		" SELECT CONCAT('r:', seq), 'k', 'x', ?, ? FROM " + mysqltest.Numbers(rows)
	later := b.clock.Now().Add(time.Hour).UnixMilli() // nothing is due
	if _, err := b.db.ExecContext(t.Context(), insert, b.clock.Now().UnixMilli(), later); err != nil {
		t.Fatal(err)
	}
	b.clock.move(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.relay.Run(ctx) }()
	const want = `
# HELP outbox_waiting_rows Messages waiting for delivery; 10001 stands for more than 10,000.
# TYPE outbox_waiting_rows gauge
outbox_waiting_rows{kind="k"} 10001
outbox_waiting_rows{kind="other"} 0
# HELP outbox_oldest_seconds Age of the oldest message waiting for delivery.
# TYPE outbox_oldest_seconds gauge
outbox_oldest_seconds{kind="k"} 60
outbox_oldest_seconds{kind="other"} 0
`
	await.Nil(t, "the gauges of a long backlog", func() error {
		return testutil.GatherAndCompare(b.registry, strings.NewReader(want), "outbox_waiting_rows", "outbox_oldest_seconds")
	})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
