package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/outbox"
)

// errUnavailable is the error of a receiver that is not deployed.
var errUnavailable = outbox.ReceiverUnavailable(errors.New("no such host"))

func TestUnavailableReceiverIsProbedByOneRowOnceAMinute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var probes int
	var unavailable atomic.Bool
	unavailable.Store(true)
	b.relay = b.newRelay(prometheus.NewRegistry(), func(ctx context.Context, row outbox.Row) error {
		probes++
		if unavailable.Load() {
			return errUnavailable
		}
		return b.receiver.deliver(ctx, row)
	})
	for i := range 30 {
		b.add(fmt.Sprint("r:", i), fmt.Sprint(i))
	}
	for range 600 { // for ten minutes
		b.runOnce()
		b.clock.move(time.Second)
	}
	// Probes after 0, 1, 3, 7, 15, 31 and 63 seconds, then every minute.
	if probes != 15 {
		t.Fatalf("probes in ten minutes = %d, want 15", probes)
	}
	if n := strings.Count(b.logs.String(), "level=WARN"); n != 1 {
		t.Fatalf("warnings = %d, want 1:\n%s", n, b.logs.String())
	}
	var tried int
	const count = "SELECT COUNT(*) FROM outbox_test WHERE attempts > 0"
	if err := b.db.QueryRowContext(t.Context(), count).Scan(&tried); err != nil || tried != 0 {
		t.Fatalf("rows with attempts = %d, error %v, want 0", tried, err)
	}
	unavailable.Store(false)
	b.clock.move(time.Minute)
	for b.runOnce() > 0 {
	}
	b.clock.move(time.Minute)
	b.runOnce()
	if got := b.receiver.texts(); len(got) != 30 {
		t.Fatalf("messages delivered = %d, want 30", len(got))
	}
}

func TestKindsDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.relay = b.newRelay(prometheus.NewRegistry(), func(ctx context.Context, row outbox.Row) error {
		if row.Kind == "k" {
			return errUnavailable
		}
		return b.receiver.deliver(ctx, row)
	})
	for i := range 25 { // more than two batches of earlier rows
		b.add(fmt.Sprint("r:", i), "unavailable")
	}
	b.insert(outbox.Event{Aggregate: "r:0", Kind: "other", Payload: []byte("urgent")})
	b.runOnce()
	b.expect("urgent")
}

// TestSlowReceiverDelaysItsOwnKindOnly blocks one delivery. Messages of another kind must be delivered meanwhile.
func TestSlowReceiverDelaysItsOwnKindOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.receiver.arrived = make(chan struct{}, 2)
	entered := make(chan struct{})
	relay := b.newRelay(prometheus.NewRegistry(), func(ctx context.Context, row outbox.Row) error {
		if row.Kind == "k" {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		}
		return b.receiver.deliver(ctx, row)
	}, func(c *outbox.Config) { c.DeliverTimeout = time.Hour })
	b.add("r:1", "slow")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	<-entered
	b.insert(outbox.Event{Aggregate: "r:1", Kind: "other", Payload: []byte("urgent")})
	relay.Wake()
	<-b.receiver.arrived
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b.expect("urgent")
}

func TestPanicCountsAsAnAttemptOfItsRow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.relay = b.newRelay(prometheus.NewRegistry(), func(ctx context.Context, row outbox.Row) error {
		if string(row.Payload) == "poison" {
			panic("canary of a patient")
		}
		return b.receiver.deliver(ctx, row)
	})
	b.add("r:1", "poison")
	b.add("r:2", "sound")
	b.runOnce()
	b.expect("sound")
	var attempts int
	var reason string
	const only = "SELECT attempts, last_error FROM outbox_test"
	if err := b.db.QueryRowContext(t.Context(), only).Scan(&attempts, &reason); err != nil {
		t.Fatal(err)
	}
	if attempts != 1 || reason != "delivery panicked with a value of type string" {
		t.Fatalf("attempts = %d, last_error = %q, want 1 and the panic's type", attempts, reason)
	}
	if strings.Contains(b.logs.String(), "canary") {
		t.Fatal("log contains the value of a panic")
	}
}

// One row always makes the receiver unavailable. The other rows must be delivered.
func TestRowThatCrashesItsReceiverDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.receiver.set(map[string]error{"poison": errUnavailable})
	for i, text := range []string{"poison", "a", "b", "c"} {
		b.add(fmt.Sprint("r:", i), text)
	}
	for range 3 {
		b.runOnce()
		b.clock.move(2 * time.Minute)
	}
	if got := b.receiver.texts(); len(got) != 3 {
		t.Fatalf("delivered = %v, want a, b and c", got)
	}
}

func TestErrorsOfServicesAreClassified(t *testing.T) {
	t.Parallel()
	for kind, want := range map[apperr.Kind]string{
		apperr.Invalid: "final", apperr.NotFound: "final", apperr.Conflict: "final", apperr.TooLarge: "final",
		apperr.Unavailable: "unavailable", apperr.Unimplemented: "unavailable",
		apperr.Internal: "retry", apperr.DeadlineExceeded: "retry", apperr.TooManyRequests: "retry",
		apperr.Unauthenticated: "retry", apperr.Forbidden: "retry",
	} {
		err := outbox.Classify(fmt.Errorf("call: %w", apperr.New(kind, "X", "x")))
		got := "retry"
		switch {
		case outbox.IsUndeliverable(err):
			got = "final"
		case outbox.IsReceiverUnavailable(err):
			got = "unavailable"
		}
		if err == nil || got != want {
			t.Errorf("Classify of kind %d = %s, want %s", kind, got, want)
		}
	}
	if err := outbox.Classify(nil); err != nil {
		t.Errorf("Classify(nil) = %v, want nil", err)
	}
}
