package supervise_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

const lostTrace = "io.debezium.DebeziumException: The connector is trying to read change stream starting at X, but this is no longer available on the server. Reconfigure"

// successor replaces the supervisor by a new one, as after a crash.
func (b *fixture) successor() {
	b.Supervisor = supervise.New(supervise.Deps{Runtime: b.worker.client(), Failures: b.journal, Jumps: b.journal, Observer: b.journal, Clock: clock.System{},
		Log: slog.New(slog.NewTextHandler(&b.log, nil)), Connectors: []string{existing, projection}, Unreadable: b.Unreadable})
}

// TestALostPositionMendsItself checks that a lost position is repaired without an operator, with another leader at
// every check. Both connectors must start over, and the full resync must be stored before the first one abandons its
// position.
func TestALostPositionMendsItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.fail(existing)
		b.worker.connectors[existing].trace = lostTrace
		b.journal.away = errors.New("the database is unavailable")
		for range 3 {
			if err := b.RunOnce(t.Context()); err == nil || len(b.worker.requests) > 0 {
				t.Fatalf("error %v, requests %v", err, b.worker.requests)
			}
			b.successor()
			<-time.After(2 * time.Second)
		}
		b.journal.away = nil
		for range 5 {
			if err := b.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.successor()
			<-time.After(2 * time.Second)
		}
		var requests []string
		for _, request := range b.worker.requests {
			_, what, _ := strings.Cut(request, " ")
			requests = append(requests, what)
		}
		want := []string{
			"PUT /connectors/" + existing + "/stop", "PUT /connectors/" + projection + "/stop",
			"DELETE /connectors/" + existing + "/offsets", "PUT /connectors/" + existing + "/resume",
			"DELETE /connectors/" + projection + "/offsets", "PUT /connectors/" + projection + "/resume",
		}
		if diff := cmp.Diff(want, requests); diff != "" {
			t.Error(diff)
		}
		want = []string{"jump " + existing, "jump " + projection, "jumped " + existing, "jumped " + projection}
		if diff := cmp.Diff(want, b.journal.jumps); diff != "" {
			t.Error(diff)
		}
		if !b.journal.up[existing] || !b.journal.up[projection] || len(b.journal.records) != 1 || !strings.Contains(b.log.String(), "start over") {
			t.Errorf("journal %+v", b.journal)
		}
	})
}

// TestAPositionThatIsLostWhileAFailureIsMendedMendsItself: when a replica becomes the primary, the connector first
// cannot reach the old primary; after a restart its position is missing on the new one. The first failure must not hide
// the second, which restarts cannot fix.
func TestAPositionThatIsLostWhileAFailureIsMendedMendsItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.fail(existing)
		b.watch(t, 3*time.Second)
		b.worker.fail(existing)
		b.worker.connectors[existing].trace = lostTrace
		b.watch(t, 20*time.Second)
		if len(b.journal.lost) != 1 || !b.journal.up[existing] || !b.journal.up[projection] {
			t.Errorf("lost %v, journal %+v", b.journal.lost, b.journal)
		}
		if len(b.journal.records) != 2 {
			t.Errorf("%d letters of two failures", len(b.journal.records))
		}
	})
}

// TestAPositionThatIsLostAgainIsTriedWithGrowingPauses checks that a position that is lost repeatedly, as in a binary
// log without transactions, is retried with the pauses of restarts.
func TestAPositionThatIsLostAgainIsTriedWithGrowingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		for range 120 {
			if b.worker.connectors[existing].state == connect.Running {
				b.worker.fail(existing)
				b.worker.connectors[existing].trace = lostTrace
			}
			b.watch(t, time.Second)
		}
		if n := len(b.journal.lost); n < 3 || n > 5 {
			t.Errorf("lost %d times in two minutes", n)
		}
		if len(b.journal.records) != 1 {
			t.Errorf("%d letters", len(b.journal.records))
		}
	})
}

// TestAConnectorThatDoesNotKnowATableStartsOverOnceTheTableIsReadable: the connectors cannot read a statement on a
// captured table, and restarts do not help. They must start over as soon as every captured table is readable; until
// then an operator is needed.
func TestAConnectorThatDoesNotKnowATableStartsOverOnceTheTableIsReadable(t *testing.T) {
	t.Parallel()
	const drifted = "io.debezium.DebeziumException: Error processing row in userDetails, internal schema size 23, but row size 24 , restart connector with schema recovery mode."
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.tables = []string{"table userDetails has a column of type INET6"}
		b.worker.fail(existing)
		b.worker.connectors[existing].trace = drifted
		b.watch(t, 2*time.Minute)
		if len(b.journal.jumps) > 0 || len(b.worker.requests) > 0 {
			t.Fatalf("jumps %v, requests %v; want a person to change the table first", b.journal.jumps, b.worker.requests)
		}
		if n := strings.Count(b.log.String(), "INET6"); n != 1 {
			t.Errorf("the log names the table %d times, want once", n)
		}
		b.tables = nil
		b.watch(t, 20*time.Second)
		want := []string{"jump " + existing, "jump " + projection, "jumped " + existing, "jumped " + projection}
		if diff := cmp.Diff(want, b.journal.jumps); diff != "" || !b.journal.up[existing] || !b.journal.up[projection] {
			t.Errorf("jumps (-want +got):\n%s, up %v", diff, b.journal.up)
		}
		for range 8 * 60 { // the same failure again and again: each restart from scratch causes a full resync
			if b.worker.connectors[existing].state == connect.Running {
				b.worker.fail(existing)
				b.worker.connectors[existing].trace = drifted
			}
			b.watch(t, time.Second)
		}
		if n := len(b.journal.lost); n != 1 {
			t.Errorf("started over %d times in eight minutes, want once", n)
		}
	})
}

// TestAFailureAfterAStartFromScratchIsMendedAtOnce: the connectors have just started from scratch when a broker does not
// respond for a moment. The long pause between two starts from scratch must not delay a plain restart.
func TestAFailureAfterAStartFromScratchIsMendedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := startedOver(t, "io.debezium.DebeziumException: Error processing row in userDetails, internal schema size 23, but row size 24")
		b.worker.fail(existing)
		b.watch(t, 30*time.Second)
		if n := b.journal.restarted[existing]; n < 1 || n > 2 {
			t.Errorf("%d restarts in half a minute, want the first at once", n)
		}
	})
}

// TestASecondFailoverStartsOverAtOnce: MariaDB failed over, the worker restarted, and the connectors started from scratch.
// They work for a minute and a half; then both happens again.
func TestASecondFailoverStartsOverAtOnce(t *testing.T) {
	t.Parallel()
	const unknown = "io.debezium.DebeziumException: Encountered change event for table lab.user_meta whose schema isn't known to this connector"
	synctest.Test(t, func(t *testing.T) {
		b := startedOver(t, unknown)
		b.watch(t, 90*time.Second)
		b.worker.fail(existing)
		b.worker.connectors[existing].trace = unknown
		b.watch(t, 20*time.Second)
		if n := len(b.journal.lost); n != 2 || !b.journal.up[existing] {
			t.Errorf("started over %d times, up %v; want twice, and up", n, b.journal.up)
		}
	})
}

// TestAResyncThatMeetsANewColumnStartsOver: a column was added during a full resync, and the worker restarted before it
// had read the statement. The connector continues the resync first, meets the column, and fails at every start.
func TestAResyncThatMeetsANewColumnStartsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		startedOver(t, "org.apache.kafka.connect.errors.ConnectException: An exception occurred in the change event producer."+
			" This connector will be stopped.\n"+
			"Caused by: io.debezium.DebeziumException: Database error while executing incremental snapshot for table 'CollectionId{id=lab.userDetails}'\n"+
			"Caused by: java.lang.IllegalArgumentException: Column 'note3' not found in result set 'id, labId_id, branchId'")
	})
}

// startedOver returns a fixture whose connector failed with the trace. The connectors must have started from scratch once.
func startedOver(t *testing.T, trace string) *fixture {
	t.Helper()
	b := newFixture()
	b.worker.fail(existing)
	b.worker.connectors[existing].trace = trace
	b.watch(t, 20*time.Second)
	if len(b.journal.lost) != 1 || !b.journal.up[existing] {
		t.Fatalf("started over %d times, up %v; want once, and up", len(b.journal.lost), b.journal.up)
	}
	return b
}
