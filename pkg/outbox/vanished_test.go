package outbox_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// The leader's node loses its network, without closed connections, in a transaction that has locked a row. Another
// replica must deliver.
func TestMessagesOfAVanishedNodeAreDeliveredByAnother(t *testing.T) {
	t.Parallel()
	sessionTimeout := 4 * time.Second // LAB_LONG_TESTS sets 0, the services' timeout
	if os.Getenv("LAB_LONG_TESTS") != "" {
		sessionTimeout = 0
	}
	b := setup(t)
	node := netfault.New(t, mysqltest.Address(t, b.dsn))
	direct, vanishing := b.db, mysqltest.Via(t, b.dsn, node.Addr(), sessionTimeout)
	quick := func(c *outbox.Config) { c.PollInterval = 100 * time.Millisecond }
	b.db = vanishing
	first := b.newRelay(prometheus.NewRegistry(), b.receiver.deliver, quick)
	b.db = direct
	second := b.newRelay(prometheus.NewRegistry(), b.receiver.deliver, quick)
	startRelay(t, first)
	b.add("r:1", "before")
	await.True(t, "the first relay leads", func() bool { return len(b.receiver.texts()) == 1 })
	startRelay(t, second)
	tx, err := vanishing.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		node.Cut() // otherwise the rollback would wait for a response
		_ = tx.Rollback()
	}()
	if _, err := b.db.ExecContext(t.Context(), "CREATE TABLE report (id INT PRIMARY KEY, flag INT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.ExecContext(t.Context(), "INSERT INTO report VALUES (1, 0)"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE report SET flag = 1 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}

	node.Silence()
	vanished := time.Now()
	b.add("r:1", "after")
	await.True(t, "the second relay delivers", func() bool { return len(b.receiver.texts()) == 2 })
	t.Logf("%5.1f s  the other replica delivered the message", time.Since(vanished).Seconds())
	await.Nil(t, "the row is unlocked", func() error {
		_, err := b.db.ExecContext(t.Context(), "UPDATE report SET flag = 2 WHERE id = 1")
		return err
	})
	t.Logf("%5.1f s  the row that the vanished node had locked was changed", time.Since(vanished).Seconds())
	b.expect("before", "after")
}

func startRelay(t *testing.T, relay *outbox.Relay) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
