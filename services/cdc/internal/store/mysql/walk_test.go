package mysql_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
)

// crashing is a fake recomputer whose process crashes at a given call.
type crashing struct {
	materialize.Users
	left  int
	users int
}

var errDeath = errors.New("the process died")

func (m *crashing) Recompute(ctx context.Context, targets []materialize.Target) (materialize.Summary, error) {
	if m.left--; m.left == 0 {
		return materialize.Summary{}, errDeath
	}
	m.users += len(targets)
	return m.Users.Recompute(ctx, targets)
}

func (b *fixture) walker(t *testing.T, left int) (*materialize.Walker, *crashing) {
	t.Helper()
	users := &crashing{left: left, Users: materialize.NewRecomputer(materialize.Deps{Store: b.store, Late: noLate{t}, Observer: silent{}, Config: materialize.DefaultConfig()})}
	return materialize.NewWalker(materialize.WalkerDeps{Walks: b.store, Phases: b.watch, Users: users, Chunk: 3, Interval: time.Second, Log: slog.New(slog.DiscardHandler)}), users
}

// TestTheEndOfTheMigrationMakesEveryPatientPassOnceMore checks that only the first columns are filled in the migration
// phase, and that its end causes a write of every patient, including deleted and unchanged ones, even if processes
// crash.
func TestTheEndOfTheMigrationMakesEveryPatientPassOnceMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, dropPerson)
	for id := int64(1); id <= 10; id++ {
		b.patient(t, id, 12)
		b.bill(t, 100+id, id, 12)
	}
	b.recompute(t, targets(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)...)
	b.exec(t, "DELETE FROM userDetails WHERE id = 10")
	b.recompute(t, targets(10)...)
	if got := b.row(t, 3); got.FullName != "" || len(got.BillIDs) != 1 {
		t.Fatalf("in the migration: %+v", got)
	}
	walker, users := b.walker(t, 0)
	if err := walker.RunOnce(t.Context()); err != nil || users.users != 0 {
		t.Fatalf("walked %d patients in the migration, %v", users.users, err)
	}
	b.patient(t, 11, 12) // without an event
	b.exec(t, addPerson)
	if _, changed, err := b.watch.Check(t.Context()); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	b.clock.set(start.Add(time.Minute))
	dying, _ := b.walker(t, 3)
	if err := dying.RunOnce(t.Context()); !errors.Is(err, errDeath) {
		t.Fatal(err)
	}
	walker, users = b.walker(t, 0)
	if err := walker.RunOnce(t.Context()); err != nil || users.users != 5 {
		t.Fatalf("the next process walked %d patients, %v", users.users, err)
	}
	b.same(t)
	for id := int64(1); id <= 11; id++ {
		if got := b.row(t, id); got.Rev < start.Add(time.Minute).UnixMicro() {
			t.Errorf("patient %d has revision %d: it did not pass", id, got.Rev)
		}
	}
	walker, users = b.walker(t, 0)
	if err := walker.RunOnce(t.Context()); err != nil || users.users != 0 {
		t.Fatalf("walked again: %d patients, %v", users.users, err)
	}
}

// TestARestartWinsOverWhoeverWalks restarts a full resync while another process runs it. That process must start over
// and not end it.
func TestARestartWinsOverWhoeverWalks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for id := int64(1); id <= 4; id++ {
		b.patient(t, id, 12)
	}
	if err := b.store.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, due, err := b.store.Position(t.Context())
	if err != nil || !due || at.UserID != 0 {
		t.Fatalf("%+v, %v, %v", at, due, err)
	}
	next, moved, err := b.store.Advance(t.Context(), at, 4)
	if err != nil || !moved {
		t.Fatal(moved, err)
	}
	if _, moved, err := b.store.Advance(t.Context(), at, 4); err != nil || moved {
		t.Fatalf("a walker that was overtaken moved the walk: %v", err)
	}
	if err := b.store.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := b.store.Finish(t.Context(), next); err != nil || done {
		t.Fatalf("a walk that was restarted was ended: %v", err)
	}
	walker, users := b.walker(t, 0)
	if err := walker.RunOnce(t.Context()); err != nil || users.users != 4 {
		t.Fatalf("walked %d, %v", users.users, err)
	}
	if _, due, err := b.store.Position(t.Context()); err != nil || due {
		t.Fatalf("still due: %v", err)
	}
}

func TestATruncatedTableMakesEveryPatientPass(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 12)
	b.bill(t, 5, 1, 12)
	b.recompute(t, targets(1)...)
	b.exec(t, "TRUNCATE TABLE billing")
	walker, _ := b.walker(t, 0)
	if err := walker.Truncated(t.Context(), "billing"); err != nil {
		t.Fatal(err)
	}
	if err := walker.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.same(t)
}

func TestAnOverrideKeepsTheMigrationPhase(t *testing.T) {
	t.Parallel()
	b := setupWith(t, phase.Migration)
	b.patient(t, 1, 12)
	b.bill(t, 5, 1, 12)
	if got := b.recompute(t, targets(1)...); got.Written != 1 {
		t.Fatalf("got %+v, want 1", got)
	}
	var name, bills string
	if err := b.db.QueryRowContext(t.Context(), "SELECT full_name, bill_ids FROM user_meta").Scan(&name, &bills); err != nil || name != "" || bills != "[5]" {
		t.Fatalf("full_name %q, bill_ids %s, %v", name, bills, err)
	}
	if got := b.recompute(t, targets(1)...); got.Equal != 1 {
		t.Fatalf("got %+v, want 1", got)
	}
}
