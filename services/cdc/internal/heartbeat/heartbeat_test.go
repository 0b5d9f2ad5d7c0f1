package heartbeat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
)

type progress map[string]int64

func (p progress) Beat(_ context.Context, connector string, at, _ time.Time) error {
	p[connector] = at.UnixMilli()
	return nil
}

type fixedClock struct{}

func (fixedClock) Now() time.Time { return time.UnixMilli(99_000) }

func beat(row, carrier string, at int64) change.Record {
	r := change.Record{Topic: "lab.lab.cdc_heartbeat", Value: fmt.Appendf(nil, `{"op":"u","before":null,"after":{"id":%q,"beat_at":%d}}`, row, at)}
	if carrier != "" {
		r.Headers = []change.Header{{Key: connectors.CarrierHeader, Value: []byte(carrier)}}
	}
	return r
}

func TestOnlyAConnectorsOwnBeatSaysThatItWorks(t *testing.T) {
	t.Parallel()
	p := progress{}
	s := heartbeat.Sink{Progress: p, Clock: fixedClock{}, Oldest: func() (time.Time, bool) { return time.Time{}, false }}
	results, err := s.Apply(t.Context(), []change.Record{
		beat("source-existing", "source-existing", 1000),
		beat("source-existing", "source-projection", 5000), // carried by the other connector: says nothing about this one
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
	if diff := cmp.Diff(progress{"source-existing": 2000, "source-projection": 1500}, p); diff != "" {
		t.Error(diff)
	}
}

func TestABeatThatOvertookOlderChangesDoesNotCoverThem(t *testing.T) {
	t.Parallel()
	p := progress{}
	s := heartbeat.Sink{Progress: p, Clock: fixedClock{}, Oldest: func() (time.Time, bool) { return time.UnixMilli(1200), true }}
	if _, err := s.Apply(t.Context(), []change.Record{beat("source-existing", "source-existing", 2000), beat("source-projection", "source-projection", 1100)}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(progress{"source-existing": 1200, "source-projection": 1100}, p); diff != "" {
		t.Error(diff)
	}
}
