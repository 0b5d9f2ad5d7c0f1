package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

// brokers is a fake of the brokers and the stores, with a group's positions and progress.
type brokers struct {
	landed    []string
	unindexed bool // the phase is migration, or a full resync is running
	held      map[heartbeat.Partition]heartbeat.Extent
	committed map[heartbeat.Partition]int64
	noted     map[string]int64 // ms, by connector
	err       error
	numbers   []string // numbers of WatchRow in the order in which they were seen
}

var _ heartbeat.Jumps = (*brokers)(nil)

func (b *brokers) Extents(_ context.Context, topics []string) (map[heartbeat.Partition]heartbeat.Extent, error) {
	held := map[heartbeat.Partition]heartbeat.Extent{}
	for partition, extent := range b.held {
		if slices.Contains(topics, partition.Topic) {
			held[partition] = extent
		}
	}
	return held, b.err
}

func (b *brokers) Committed(_ context.Context, partitions []heartbeat.Partition) (map[heartbeat.Partition]int64, error) {
	committed := map[heartbeat.Partition]int64{}
	for _, partition := range partitions {
		if offset, ok := b.committed[partition]; ok {
			committed[partition] = offset
		}
	}
	return committed, b.err
}

func (b *brokers) Applied(_ context.Context, connector string, at time.Time) error {
	b.noted[connector] = at.UnixMilli()
	return b.err
}

func watermark(b *brokers) *heartbeat.Watermark {
	return heartbeat.NewWatermark(b, b, b.indexed, map[string][]string{"source-existing": {"bills", "patients"}, "source-projection": {"rows"}})
}

func beat(row, carrier string, at int64) change.Record {
	r := change.Record{Topic: "lab.lab.cdc_heartbeat", Value: fmt.Appendf(nil, `{"op":"u","before":null,"after":{"id":%q,"beat_at":%d}}`, row, at)}
	if carrier != "" {
		r.Headers = []change.Header{{Key: connectors.CarrierHeader, Value: []byte(carrier)}}
	}
	return r
}

func TestOnlyAConnectorsOwnBeatSaysThatItWorks(t *testing.T) {
	t.Parallel()
	b := &brokers{noted: map[string]int64{}}
	w := watermark(b)
	s := heartbeat.Sink{Watermark: w, Jumps: b, Watch: b, Lost: func(string) {}, Log: slog.New(slog.DiscardHandler)}
	results, err := s.Apply(t.Context(), []change.Record{
		beat("source-existing", "source-existing", 1000),
		beat("source-existing", "source-projection", 5000), // captured by the other connector, so it proves nothing
		beat("source-existing", "source-existing", 2000),
		beat("source-projection", "source-projection", 1500),
		beat("source-projection", "", 9000),
		{Topic: "lab.lab.cdc_heartbeat"},
		{Topic: "lab.lab.cdc_heartbeat", Value: []byte(`{"op":"d","before":{"id":"x"},"after":null}`)},
		{Topic: "lab.lab.cdc_heartbeat", Value: []byte(`{"op":"c","after":{"id":"x","beat_at":"soon"}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, r.Kind.String()+" "+r.Reason)
	}
	want := []string{"coalesced ", "skipped foreign_beat", "applied ", "applied ", "skipped foreign_beat", "skipped tombstone", "skipped no_row", "dead malformed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := w.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"source-existing": 2000, "source-projection": 1500}, b.noted); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"source-existing 1000", "source-existing 2000", "source-projection 1500"}, b.landed); diff != "" {
		t.Error(diff)
	}
	b.err = errors.New("the database is unavailable")
	if _, err := s.Apply(t.Context(), []change.Record{beat("source-existing", "source-existing", 3000)}); !errors.Is(err, b.err) {
		t.Errorf("a jump may be open, and the beat is marked: %v", err)
	}
}

func (b *brokers) Seen(_ context.Context, connector string, number int64) (bool, error) {
	b.numbers = append(b.numbers, fmt.Sprint(connector, " ", number))
	return number > 7, b.err
}

// TestAMissingNumberOfTheServicesOwnRowIsALostPosition checks that a gap in the numbers captured by one connector is
// reported as a lost position of that connector only.
func TestAMissingNumberOfTheServicesOwnRowIsALostPosition(t *testing.T) {
	t.Parallel()
	b := &brokers{noted: map[string]int64{}}
	var lost []string
	s := heartbeat.Sink{Watermark: watermark(b), Jumps: b, Watch: b, Lost: func(connector string) { lost = append(lost, connector) },
		Log: slog.New(slog.DiscardHandler)}
	_, err := s.Apply(t.Context(), []change.Record{beat("watch", "source-existing", 7), beat("watch", "source-projection", 9),
		beat("watch", "", 8), beat("source-existing", "source-projection", 11)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"source-existing 7", "source-projection 9"}, b.numbers); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"source-projection"}, lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	b.err = errors.New("the database is unavailable")
	if _, err := s.Apply(t.Context(), []change.Record{beat("watch", "source-existing", 8)}); !errors.Is(err, b.err) {
		t.Errorf("a number that could not be noted is marked as read: %v", err)
	}
}

func (b *brokers) indexed(context.Context) (bool, error) { return !b.unindexed, nil }

func (b *brokers) Landed(_ context.Context, connector string, at time.Time) (bool, error) {
	b.landed = append(b.landed, fmt.Sprint(connector, " ", at.UnixMilli()))
	return true, b.err
}
