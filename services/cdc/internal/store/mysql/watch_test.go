package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

func TestANumberThatAConnectorLeftOutHasEveryPatientComputedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "DELETE FROM cdc_walk")
	const connector = "source-existing"
	for _, step := range []struct {
		number  int64
		missing bool
	}{
		{7, false}, // the first number seen
		{8, false},
		{8, false}, // read again
		{5, false}, // read again from an older position
		{9, false},
		{12, true},
		{12, false},
		{13, false},
		{1, false}, // the row was created again
		{2, false},
		{4, true},
	} {
		missing, err := b.store.Seen(t.Context(), connector, step.number)
		if err != nil || missing != step.missing {
			t.Fatalf("number %d: missing %t, %v; want %t", step.number, missing, err, step.missing)
		}
		behind, err := b.store.Behind(t.Context())
		if err != nil || behind != step.missing {
			t.Fatalf("number %d: a jump is noted %t, %v; want %t", step.number, behind, err, step.missing)
		}
		b.exec(t, "DELETE FROM cdc_walk")
	}
	if missing, err := b.store.Seen(t.Context(), "source-projection", 100); err != nil || missing {
		t.Errorf("the other connector: missing %t, %v", missing, err)
	}
}

// TestAMissingNumberLeavesAJumpThatHasBegun checks that a skipped number does not change a jump in progress: the
// connector still has to abandon its position.
func TestAMissingNumberLeavesAJumpThatHasBegun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const connector = "source-existing"
	if err := b.store.Jump(t.Context(), []string{connector}); err != nil {
		t.Fatal(err)
	}
	for _, number := range []int64{7, 9} {
		if missing, err := b.store.Seen(t.Context(), connector, number); err != nil || missing != (number == 9) {
			t.Fatalf("number %d: missing %t, %v", number, missing, err)
		}
	}
	if jumping, err := b.store.Jumping(t.Context()); err != nil || !jumping[connector] {
		t.Errorf("connectors that are to forget their place: %v, %v; want %s", jumping, err, connector)
	}
}

func TestTheServicesOwnRowCountsUpByOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want := int64(1); want <= 3; want++ {
		if err := b.store.CountUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got int64
		if err := b.db.QueryRowContext(t.Context(), "SELECT beat_at FROM cdc_heartbeat WHERE id = ?", heartbeat.WatchRow).Scan(&got); err != nil || got != want {
			t.Fatalf("number %d, %v; want %d", got, err, want)
		}
	}
}

func TestAPartitionIsRememberedByItsStamp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 {
		if err := b.store.SetStamped(t.Context(), "billing/1"); err != nil {
			t.Fatal(err)
		}
	}
	for partition, want := range map[string]bool{"billing/1": true, "billing/10": false, "userDetails/1": false} {
		if stamped, err := b.store.Stamped(t.Context(), partition); err != nil || stamped != want {
			t.Errorf("%s has a stamp: %t, %v; want %t", partition, stamped, err, want)
		}
	}
}
