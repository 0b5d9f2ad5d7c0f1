package indexsync_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

// Of five shards, laboratories 7 and 8 share one; laboratory 1 is in another.
func lifeInThreeLabs() *rapid.Generator[story] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]int64{7, 8, 1, 7, 8, 1, 0, rowGone}), 1, 7), func(s []int64) story { return s })
}

// requests returns the bulk requests that a sink sends for events while consumers join and leave: batches of random
// size, some repeated from an earlier event.
func requests(t *rapid.T, tb testing.TB, events []change.Record) []request {
	i := &index{}
	sink := newSink(tb, i, newWorld(), document.RevVersions{})
	for done := 0; done < len(events); {
		from := rapid.IntRange(0, done).Draw(t, "from")
		to := rapid.IntRange(done+1, len(events)).Draw(t, "to")
		results, err := sink.Apply(context.Background(), events[from:to])
		if err != nil || len(results) != to-from {
			t.Fatalf("%d results for %d records, error %v", len(results), to-from, err)
		}
		done = to
	}
	return i.sent
}

// shuffled returns the requests in random order, some of them twice.
func shuffled(t *rapid.T, all []request) []request {
	again := rapid.SliceOfN(rapid.SampledFrom(all), 0, len(all)).Draw(t, "again")
	return rapid.Permutation(slices.Concat(all, again)).Draw(t, "order")
}

func TestAnyOrderOfRequestsEndsRight(t *testing.T) {
	t.Parallel()
	shardOf := func(lab int64) int { return map[int64]int{7: 0, 8: 0, 1: 1}[lab] }
	property.Check(t, func(rt *rapid.T) {
		events, last, _ := lifeInThreeLabs().Draw(rt, "story").events()
		if len(events) == 0 {
			return
		}
		s := newShards(shardOf)
		for _, r := range shuffled(rt, requests(rt, t, events)) {
			_, _ = s.Bulk(context.Background(), "", r.ops)
		}
		if diff := cmp.Diff(want(last), s.search()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestAnyOrderOfRequestsEndsRightOnTheRealServer(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	const stories = 60
	ctx := t.Context()
	expected := map[string]seen{}
	for n := range int64(stories) {
		example := rapid.Custom(func(rt *rapid.T) []document.Op {
			events, last, _ := lifeInThreeLabs().Draw(rt, "story").events()
			if len(events) == 0 {
				return nil
			}
			for _, w := range want(last) {
				w.ID = n + 1
				expected[fmt.Sprint(n+1)] = w
			}
			var ops []document.Op
			for _, r := range shuffled(rt, requests(rt, t, events)) {
				ops = append(ops, r.ops...)
			}
			return ops
		}).Example(int(n))
		for i := range example {
			example[i].ID = n + 1
		}
		if len(example) == 0 {
			continue
		}
		if _, err := s.Bulk(ctx, s.Live(), example); err != nil {
			t.Fatal(err)
		}
	}
	if len(expected) < stories/4 {
		t.Fatalf("only %d of %d stories end with a patient", len(expected), stories)
	}
	var all []string
	for _, lab := range []int64{7, 8, 1} {
		found := s.Found(map[string]any{"bool": map[string]any{"filter": []any{
			map[string]any{"term": map[string]any{"lab_id": lab}}, map[string]any{"term": map[string]any{"is_deleted": false}}}}})
		for _, id := range found {
			if expected[id].LabID != lab {
				t.Errorf("patient %s is found in laboratory %d instead of %d", id, lab, expected[id].LabID)
			}
		}
		all = append(all, found...)
	}
	if len(all) != len(expected) {
		t.Errorf("%d patients are found instead of %d", len(all), len(expected))
	}
}

// realSink returns a sink that writes to a real server.
func realSink(t *testing.T, s *enginetest.Server) *indexsync.Sink {
	t.Helper()
	cfg := config()
	cfg.FirstRetry, cfg.MaxRetry, cfg.Patience = time.Millisecond, 10*time.Millisecond, 50*time.Millisecond
	w := newWorld()
	return indexsync.NewSink(indexsync.Deps{Lookup: s, Writer: newWriter(s, &observed{}, cfg), Phases: w, Tables: w, Versions: document.RevVersions{}, Clock: clock.System{}})
}

func TestTheSinkOnTheRealServer(t *testing.T) {
	t.Parallel()
	at := func(user, lab, rev int64, previous ...int64) change.Record {
		return event(change.Update, projection.Row{UserID: user, LabID: lab, FormerLabIDs: previous, Rev: rev})
	}
	immense := projection.Row{UserID: 5, LabID: 7, Rev: 3, SampleIDs: []string{string(make([]byte, 40_000))}}
	s := enginetest.Ensured(t)
	sink := realSink(t, s)
	for _, step := range []struct {
		what    string
		records []change.Record
		want    []string
	}{
		{"new patients", []change.Record{at(1, 7, 10), at(2, 8, 10), at(3, 1, 10)}, []string{"applied", "applied", "applied"}},
		{"a redelivery", []change.Record{at(1, 7, 10)}, []string{"applied"}},
		{"a move on the same shard", []change.Record{at(1, 8, 11, 7)}, []string{"applied"}},
		{"a move to another shard", []change.Record{at(2, 1, 11, 8)}, []string{"applied"}},
		{"what is older", []change.Record{at(1, 7, 10), at(2, 8, 10)}, []string{"superseded", "superseded"}},
		{"a document that is refused", []change.Record{event(change.Create, immense), at(3, 1, 11)}, []string{"dead document_parsing_exception", "applied"}},
		{"a row that was deleted", []change.Record{event(change.Delete, projection.Row{UserID: 3, LabID: 1, Rev: 11})}, []string{"applied"}},
	} {
		results, err := sink.Apply(t.Context(), step.records)
		if err != nil {
			t.Fatalf("%s: got error %v, want none", step.what, err)
		}
		if diff := cmp.Diff(step.want, words(results)); diff != "" {
			t.Errorf("%s: got %s, want none", step.what, diff)
		}
	}
	found := s.Found(map[string]any{"term": map[string]any{"is_deleted": false}})
	if diff := cmp.Diff([]string{"1", "2"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsOfTheRealServer(t *testing.T) {
	t.Parallel()
	record := []change.Record{event(change.Update, projection.Row{UserID: 1, LabID: 7, Rev: 10})}
	for name, c := range map[string]struct {
		spoil, repair func(*enginetest.Server)
		operator      bool
	}{
		"a write block": {
			func(s *enginetest.Server) {
				s.Send("PUT", "/"+s.Alias+"_v1/_settings", `{"index.blocks.write":true}`, nil)
			},
			func(s *enginetest.Server) {
				s.Send("PUT", "/"+s.Alias+"_v1/_settings", `{"index.blocks.write":false}`, nil)
			}, false},
		"a missing alias": {
			func(s *enginetest.Server) { s.Send("DELETE", "/"+s.Alias+"_v1/_alias/"+s.Alias+"*", nil, nil) },
			func(s *enginetest.Server) { s.Send("PUT", "/"+s.Alias+"_v1/_alias/"+s.Alias, nil, nil) }, true},
		"no write index": {
			func(s *enginetest.Server) {
				s.Send("PUT", "/"+s.Alias+"_v1/_alias/"+s.Alias+"_schema7", `{"is_write_index":false}`, nil)
			},
			func(s *enginetest.Server) {
				s.Send("PUT", "/"+s.Alias+"_v1/_alias/"+s.Alias+"_schema7", `{"is_write_index":true}`, nil)
			}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.Ensured(t)
			sink := realSink(t, s)
			if _, err := sink.Apply(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			c.spoil(s)
			_, err := sink.Apply(t.Context(), record)
			if fault := outcome.FaultOf(err); err == nil || fault.Operator != c.operator || (fault.Advice != "") != c.operator {
				t.Fatalf("error %v", err)
			}
			c.repair(s)
			if results, err := sink.Apply(t.Context(), record); err != nil || results[0].Kind != outcome.Applied {
				t.Errorf("after it was fixed: %v, error %v", results, err)
			}
		})
	}
}
