package heartbeat_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func TestABeatCountsWhenAllPartitionsHavePassedIt(t *testing.T) {
	t.Parallel()
	bills, patients, rows := heartbeat.Partition{Topic: "bills"}, heartbeat.Partition{Topic: "patients", ID: 5}, heartbeat.Partition{Topic: "rows"}
	steps := []struct {
		name      string
		held      map[heartbeat.Partition]heartbeat.Extent
		committed map[heartbeat.Partition]int64
		offer     int64 // heartbeat of source-existing in ms; 0: none
		want      int64 // recorded heartbeat afterwards
	}{
		{name: "nothing was fetched yet", offer: 1000,
			held: map[heartbeat.Partition]heartbeat.Extent{bills: {0, 10}, patients: {0, 3}, rows: {0, 99}}},
		{name: "one process is behind", offer: 3000, committed: map[heartbeat.Partition]int64{bills: 10, patients: 2}},
		{name: "more records came behind the beat: not awaited", committed: map[heartbeat.Partition]int64{bills: 10, patients: 3}, want: 1000,
			held: map[heartbeat.Partition]heartbeat.Extent{bills: {0, 40}, patients: {0, 30}}},
		{name: "the newest beat that was offered is next", want: 1000},
		{name: "one partition is stuck", committed: map[heartbeat.Partition]int64{bills: 900, patients: 29}, offer: 5000, want: 1000},
		{name: "and continues", committed: map[heartbeat.Partition]int64{bills: 900, patients: 30}, want: 3000},
		{name: "a partition whose records are all gone was never read", offer: 7000, want: 7000,
			held:      map[heartbeat.Partition]heartbeat.Extent{bills: {8, 8}, patients: {0, 30}},
			committed: map[heartbeat.Partition]int64{patients: 30}},
		{name: "records that went before they were read", offer: 9000, want: 7000,
			held:      map[heartbeat.Partition]heartbeat.Extent{bills: {8, 8}, patients: {0, 30}},
			committed: map[heartbeat.Partition]int64{bills: 7, patients: 30}},
	}
	b := &brokers{noted: map[string]int64{}}
	w := watermark(b)
	for _, step := range steps {
		if step.held != nil {
			b.held = step.held
		}
		if step.committed != nil {
			b.committed = step.committed
		}
		if step.offer != 0 {
			w.Offer("source-existing", at(step.offer))
		}
		if err := w.RunOnce(t.Context()); err != nil {
			t.Fatal(step.name, err)
		}
		if got := b.noted["source-existing"]; got != step.want {
			t.Errorf("%s: noted %d, want %d", step.name, got, step.want)
		}
	}
}

func TestBrokersThatAreAwayLoseNoBeat(t *testing.T) {
	t.Parallel()
	b := &brokers{noted: map[string]int64{}, err: errors.New("away")}
	w := watermark(b)
	w.Offer("source-projection", at(1000))
	w.Offer("source-projection", at(900))
	w.Offer("source-unknown", at(2000))
	for range 2 {
		if err := w.RunOnce(t.Context()); err == nil {
			t.Fatal("no one was told")
		}
	}
	b.err = nil
	if err := w.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"source-projection": 1000}, b.noted); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsFreshThatIsNotIndexed checks that no heartbeat is recorded in the migration phase, in which nothing is
// indexed. The age of the data must grow.
func TestNothingIsFreshThatIsNotIndexed(t *testing.T) {
	t.Parallel()
	b := &brokers{noted: map[string]int64{}, unindexed: true}
	w := watermark(b)
	pass := func() {
		if err := w.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.Offer("source-projection", at(1000))
	pass()
	b.unindexed = false
	pass() // the earlier heartbeat must be discarded, because changes before it may not be indexed yet
	if len(b.noted) > 0 {
		t.Errorf("noted %v", b.noted)
	}
	w.Offer("source-projection", at(2000))
	pass()
	if diff := cmp.Diff(map[string]int64{"source-projection": 2000}, b.noted); diff != "" {
		t.Error(diff)
	}
}
