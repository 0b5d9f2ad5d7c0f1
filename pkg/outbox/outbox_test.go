package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
)

// manualClock is a clock that a test moves.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func (h *manualClock) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *manualClock) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// receiver records deliveries and returns the error that the test has set for a payload.
type receiver struct {
	mu      sync.Mutex
	got     []string
	keys    []string
	refuse  map[string]error
	arrived chan struct{}
}

func (r *receiver) deliver(_ context.Context, row outbox.Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := string(row.Payload)
	if err := r.refuse[text]; err != nil {
		return err
	}
	r.got = append(r.got, text)
	r.keys = append(r.keys, row.Key("outbox_test"))
	if r.arrived != nil {
		r.arrived <- struct{}{}
	}
	return nil
}

func (r *receiver) set(refuse map[string]error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

func (r *receiver) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

type fixture struct {
	t        *testing.T
	db       *sql.DB
	dsn      string
	table    outbox.Table
	clock    *manualClock
	receiver *receiver
	registry *prometheus.Registry
	relay    *outbox.Relay
	logs     servicetest.Logs
}

func setup(t *testing.T) *fixture {
	t.Helper()
	db, dsn := mysqltest.Open(t)
	b := &fixture{t: t, db: db, dsn: dsn, clock: &manualClock{now: time.Unix(1_800_000_000, 0)}, receiver: &receiver{},
		registry: prometheus.NewRegistry()}
	var err error
	if b.table, err = outbox.NewTable("outbox_test"); err != nil {
		t.Fatal(err)
	}
	migrate(t, b.db)
	b.relay = b.newRelay(b.registry, b.receiver.deliver)
	return b
}

func (b *fixture) newRelay(
	registry prometheus.Registerer, deliver outbox.Deliver, changes ...func(*outbox.Config),
) *outbox.Relay {
	b.t.Helper()
	metrics := outbox.NewMetrics(registry)
	config := outbox.Config{PollInterval: time.Hour, FirstRetryDelay: time.Second, MaxRetryDelay: 5 * time.Second,
		DeliverTimeout: time.Second, BatchSize: 10}
	for _, change := range changes {
		change(&config)
	}
	return outbox.NewRelay(outbox.Deps{
		Config: config, DB: b.db, Table: b.table, Clock: b.clock,
		Receivers: map[string]outbox.Deliver{"k": deliver, "other": deliver},
		Jitter:    func() float64 { return 0.5 }, Log: slog.New(slog.NewTextHandler(&b.logs, nil)), Metrics: metrics,
	})
}

func (b *fixture) insert(e outbox.Event) bool {
	b.t.Helper()
	var inserted bool
	err := mysqldb.InTx(b.t.Context(), b.db, func(tx *sql.Tx) (err error) {
		inserted, err = b.table.Insert(b.t.Context(), tx, b.clock.Now(), e)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return inserted
}

func (b *fixture) add(aggregate, payload string) {
	b.t.Helper()
	b.insert(outbox.Event{Aggregate: aggregate, Kind: "k", Payload: []byte(payload)})
}

func (b *fixture) runOnce() int {
	b.t.Helper()
	n, err := b.relay.RunOnce(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *fixture) expect(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.receiver.texts()); diff != "" {
		b.t.Fatalf("delivered (-want +got):\n%s", diff)
	}
}

func TestCommittedEventsAreDeliveredOnceInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add("r:1", "a")
	b.add("r:2", "b")
	b.add("r:1", "c")
	b.insert(outbox.Event{Aggregate: "r:3", Kind: "k"})
	if n := b.runOnce(); n != 4 {
		t.Fatalf("rows tried = %d, want 4", n)
	}
	if n := b.runOnce(); n != 0 {
		t.Fatalf("rows tried again = %d, want 0", n)
	}
	b.expect("a", "b", "", "c") // in order within an aggregate, others in between
}

func TestEventOfARolledBackTransactionIsNeverDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	boom := errors.New("boom")
	err := mysqldb.InTx(t.Context(), b.db, func(tx *sql.Tx) error {
		event := outbox.Event{Aggregate: "r:1", Kind: "k", Payload: []byte("a")}
		if _, err := b.table.Insert(t.Context(), tx, b.clock.Now(), event); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) || b.runOnce() != 0 {
		t.Fatalf("error = %v, want that of the transaction and no delivery", err)
	}
}

func TestDedupeKeySkipsTheSecondRowWithoutAnError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.insert(outbox.Event{Aggregate: "r:1", Kind: "k", Payload: []byte("a"), DedupeKey: "x"})
	second := b.insert(outbox.Event{Aggregate: "r:1", Kind: "k", Payload: []byte("b"), DedupeKey: "x"})
	if !first || second {
		t.Fatalf("inserted = %v, %v, want true, false", first, second)
	}
	b.runOnce()
	b.expect("a")
}

func TestFailedRowBacksOffAndBlocksItsAggregateOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.receiver.set(map[string]error{"a": errors.New("queue unavailable")})
	b.add("r:1", "a")
	b.add("r:1", "b")
	b.add("r:2", "c")
	b.runOnce()
	b.expect("c")
	const s = time.Second
	for _, delay := range []time.Duration{s, 2 * s, 4 * s, 5 * s, 5 * s} {
		b.clock.move(delay - time.Millisecond)
		if n := b.runOnce(); n != 0 {
			t.Fatalf("rows tried before %[2]v = %[1]d, want 0", n, delay)
		}
		b.clock.move(time.Millisecond)
		if n := b.runOnce(); n == 0 {
			t.Fatalf("rows tried after %v = 0, want more", delay)
		}
	}
	var attempts int
	var reason string
	const first = "SELECT attempts, last_error FROM outbox_test ORDER BY id LIMIT 1"
	if err := b.db.QueryRowContext(t.Context(), first).Scan(&attempts, &reason); err != nil {
		t.Fatal(err)
	}
	if attempts != 6 || reason != "queue unavailable" {
		t.Fatalf("attempts = %d, last_error = %q, want 6 and the receiver's error", attempts, reason)
	}
	b.receiver.set(nil)
	b.clock.move(5 * time.Second)
	b.runOnce()
	b.expect("c", "a", "b")
}

func TestUndeliverableRowIsParkedAndBlocksNoOtherRow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	final := outbox.Undeliverable(errors.New("no such task " + strings.Repeat("é", 600)))
	b.receiver.set(map[string]error{"a": final})
	b.insert(outbox.Event{Aggregate: "r:1", Kind: "k", Payload: []byte("a"), DedupeKey: "x"})
	b.add("r:1", "b")
	b.runOnce()
	if !b.insert(outbox.Event{Aggregate: "r:1", Kind: "k", Payload: []byte("c"), DedupeKey: "x"}) {
		t.Fatal("Insert with the dedupe key of a parked row = false, want true")
	}
	b.clock.move(24 * time.Hour)
	b.runOnce()
	b.expect("b", "c")
	var parked int
	const count = "SELECT COUNT(*) FROM outbox_test WHERE last_error LIKE 'no such task%' AND attempts = 1"
	if err := b.db.QueryRowContext(t.Context(), count).Scan(&parked); err != nil || parked != 1 {
		t.Fatalf("parked rows = %d, error %v, want 1", parked, err)
	}
}

func TestCrashAfterDeliveryRepeatsItWithTheSameKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add("r:1", "a")
	dying := b.newRelay(prometheus.NewRegistry(), func(ctx context.Context, row outbox.Row) error {
		err := b.receiver.deliver(ctx, row)
		b.killLeader()
		return err
	})
	if _, err := dying.RunOnce(t.Context()); err == nil {
		t.Fatal("RunOnce = nil after a lost connection, want an error")
	}
	// The server releases the lock shortly after it has closed the connection.
	await.True(t, "the row is delivered again", func() bool { return b.runOnce() > 0 })
	b.expect("a", "a")
	if b.receiver.keys[0] != b.receiver.keys[1] {
		t.Fatalf("keys = %v, want the same twice", b.receiver.keys)
	}
}

// killLeader closes the connection with a relay's lock.
func (b *fixture) killLeader() {
	b.t.Helper()
	var id int64
	const holder = "SELECT IS_USED_LOCK(CONCAT('lab.test.relay@', DATABASE()))"
	if err := b.db.QueryRowContext(b.t.Context(), holder).Scan(&id); err != nil {
		b.t.Error(err)
	}
	if _, err := b.db.ExecContext(b.t.Context(), "KILL CONNECTION ?", id); err != nil {
		b.t.Error(err)
	}
}

func TestOnlyOneRelayLeads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add("r:1", "a")
	inside := 0
	leader := b.newRelay(prometheus.NewRegistry(), func(ctx context.Context, row outbox.Row) error {
		inside = b.runOnce() // the relay of b is a second process; it runs while this one leads
		return b.receiver.deliver(ctx, row)
	})
	if n, err := leader.RunOnce(t.Context()); err != nil || n != 1 || inside != 0 {
		t.Fatalf("rows tried by the leader = %d, by the other = %d, want 1 and 0; error %v", n, inside, err)
	}
	b.expect("a")
}

func TestRunDeliversAfterWakeAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.receiver.arrived = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.relay.Run(ctx) }()
	for range 3 {
		b.add("r:1", "a")
		b.relay.Wake()
		select {
		case <-b.receiver.arrived:
		case <-time.After(20 * time.Second):
			t.Fatal("no delivery within 20s after Wake")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b.expect("a", "a", "a")
}

func TestGaugesShowWaitingAndParkedRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if n, err := testutil.GatherAndCount(b.registry); err != nil || n != 14 {
		t.Fatalf("series at the start = %d, want 14; error %v", n, err)
	}
	b.receiver.set(map[string]error{"a": errors.New("unavailable"), "p": outbox.Undeliverable(errors.New("never"))})
	b.add("r:1", "p")
	b.add("r:2", "a")
	b.insert(outbox.Event{Aggregate: "r:3", Kind: "unknown"}) // a kind that only a newer version of the service delivers
	b.clock.move(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.relay.Run(ctx) }()
	want := `
# HELP outbox_oldest_seconds Age of the oldest message waiting for delivery.
# TYPE outbox_oldest_seconds gauge
outbox_oldest_seconds{kind="k"} 60
outbox_oldest_seconds{kind="other"} 0
outbox_oldest_seconds{kind="unknown"} 60
# HELP outbox_parked_rows Parked messages, which an operator must release or delete; 10001 stands for more than 10,000.
# TYPE outbox_parked_rows gauge
outbox_parked_rows{kind="k"} 1
outbox_parked_rows{kind="other"} 0
outbox_parked_rows{kind="unknown"} 0
# HELP outbox_waiting_rows Messages waiting for delivery; 10001 stands for more than 10,000.
# TYPE outbox_waiting_rows gauge
outbox_waiting_rows{kind="k"} 1
outbox_waiting_rows{kind="other"} 0
outbox_waiting_rows{kind="unknown"} 1
`
	await.Nil(t, "gauges of waiting and parked rows", func() error {
		return testutil.GatherAndCompare(b.registry, strings.NewReader(want),
			"outbox_oldest_seconds", "outbox_parked_rows", "outbox_waiting_rows")
	})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestTableNamesAreChecked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "outbox_", "billing", "outbox_rerun; DROP TABLE x", "outbox_Rerun"} {
		if _, err := outbox.NewTable(name); err == nil {
			t.Errorf("NewTable(%q) succeeded, want an error", name)
		}
	}
}

func TestSettingsThatStopDeliveryAreRefused(t *testing.T) {
	t.Parallel()
	good := outbox.Config{PollInterval: 1, FirstRetryDelay: 1, MaxRetryDelay: 1, DeliverTimeout: 1, BatchSize: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	bad := good
	bad.BatchSize = 0
	if err := bad.Validate(); err == nil {
		t.Fatal("Validate = nil for an empty batch, want an error")
	}
}
