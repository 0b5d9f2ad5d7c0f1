package indexsync_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

func words(results []outcome.Result) []string {
	var out []string
	for _, r := range results {
		out = append(out, strings.TrimSpace(r.Kind.String()+" "+r.Reason))
	}
	return out
}

func raw(value string) change.Record {
	return change.Record{Topic: "lab.lab.user_meta", Value: []byte(value)}
}

func TestEachRecordHasOneResult(t *testing.T) {
	t.Parallel()
	at := func(user, lab, rev int64) projection.Row {
		return projection.Row{UserID: user, LabID: lab, Rev: rev}
	}
	for name, c := range map[string]struct {
		records []change.Record
		want    []string
	}{
		"one of each": {[]change.Record{event(change.Read, at(1, 1, 5)), event(change.Create, at(2, 1, 5)), event(change.Update, at(3, 1, 5)), event(change.Delete, at(4, 1, 5))},
			[]string{"applied", "applied", "applied", "applied"}},
		"what asks for nothing": {[]change.Record{raw(""), raw("null"), raw(`{"op":"m"}`), raw(`{"op":"z"}`), raw(`{"op":"t"}`), event(change.Create, at(1, 0, 0))},
			[]string{"skipped tombstone", "skipped tombstone", "skipped unknown_op", "skipped unknown_op", "skipped truncate", "skipped stub"}},
		"what cannot be read": {[]change.Record{raw("{"), raw(`{"op":"u"}`), raw(`{"op":"c","after":{"user_id":"x"}}`), raw(`{"op":"d","before":null}`), event(change.Create, at(1, 1, 1))},
			[]string{"dead malformed", "dead malformed", "dead malformed", "dead malformed", "applied"}},
		"several of one patient": {[]change.Record{event(change.Create, at(1, 1, 5)), event(change.Update, at(2, 1, 5)), event(change.Update, at(1, 1, 6)), event(change.Update, at(1, 1, 7))},
			[]string{"coalesced", "applied", "coalesced", "applied"}},
		"older ones behind a rewind": {[]change.Record{event(change.Update, at(1, 1, 7)), event(change.Update, at(1, 1, 5)), event(change.Update, at(1, 1, 6))},
			[]string{"applied", "coalesced", "coalesced"}},
		"a deleted row and its tombstone": {[]change.Record{event(change.Update, at(1, 1, 7)), event(change.Delete, at(1, 1, 7)), raw("")},
			[]string{"coalesced", "applied", "skipped tombstone"}},
		"a row that came back": {[]change.Record{event(change.Delete, at(1, 1, 7)), event(change.Create, at(1, 2, 9))},
			[]string{"coalesced", "applied"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, err := newSink(t, &index{}, newWorld(), document.RevVersions{}).Apply(t.Context(), c.records)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, words(results)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheNewestIsWrittenAndEveryRouteOfTheBatchIsBlanked(t *testing.T) {
	t.Parallel()
	i := &index{}
	_, err := newSink(t, i, newWorld(), document.RevVersions{}).Apply(t.Context(), []change.Record{
		event(change.Create, projection.Row{UserID: 1, LabID: 5, Rev: 10}),
		event(change.Update, projection.Row{UserID: 1, LabID: 6, FormerLabIDs: []int64{5}, Rev: 11}),
		event(change.Update, projection.Row{UserID: 1, LabID: 5, FormerLabIDs: []int64{6, 9}, Rev: 12}),
		event(change.Delete, projection.Row{UserID: 2, LabID: 5, FormerLabIDs: []int64{7}, Rev: 20}),
	})
	if err != nil {
		t.Fatal(err)
	}
	type op struct {
		ID, Route, Version int64
		Deletes            bool
	}
	var got []op
	for _, o := range i.sent[0].ops {
		got = append(got, op{o.ID, o.Route, o.Version, o.Body == nil})
	}
	want := []op{{1, 6, 24, false}, {1, 9, 24, false}, {1, 5, 25, false}, {2, 7, 42, true}, {2, 5, 42, true}}
	if diff := cmp.Diff(want, got); diff != "" || len(i.sent) != 1 {
		t.Errorf("%d requests: %s", len(i.sent), diff)
	}
}

func TestTheResultIsThatOfTheDocumentUnlessSomethingIsRefused(t *testing.T) {
	t.Parallel()
	const w, s, p = indexsync.Written, indexsync.Superseded, indexsync.Poison
	moved := event(change.Update, projection.Row{UserID: 1, LabID: 5, FormerLabIDs: []int64{6}, Rev: 11})
	for name, c := range map[string]struct {
		blank, document indexsync.Verdict
		want            string
	}{
		"both written":                           {w, w, "applied"},
		"the blank shares the document's shard":  {s, w, "applied"},
		"the index is newer":                     {w, s, "superseded"},
		"both older":                             {s, s, "superseded"},
		"the document is refused":                {w, p, "dead kind"},
		"the blank is refused":                   {p, w, "dead kind"},
		"the blank is refused, the other is old": {p, s, "dead kind"},
	} {
		i := &index{script: []func([]document.Op) ([]indexsync.Fate, error){say(c.blank, c.document)}}
		results, err := newSink(t, i, newWorld(), document.RevVersions{}).Apply(t.Context(), []change.Record{moved})
		if err != nil {
			t.Fatal(err)
		}
		if got := words(results); got[0] != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if r := results[0]; r.Kind == outcome.Dead && (r.Sink != "index" || r.Err == nil) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestNothingIsIndexedDuringTheMigration(t *testing.T) {
	t.Parallel()
	w, i := newWorld(), &index{}
	w.phase = phase.Migration
	results, err := newSink(t, i, w, document.RevVersions{}).Apply(t.Context(), []change.Record{event(change.Create, projection.Row{UserID: 1, LabID: 1, Rev: 1}), raw("{")})
	if err != nil || len(i.sent) != 0 {
		t.Fatalf("%d requests, error %v", len(i.sent), err)
	}
	if diff := cmp.Diff([]string{"skipped phase_migration", "skipped phase_migration"}, words(results)); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptiedTableIsNotedBeforeAnythingIsMarked(t *testing.T) {
	t.Parallel()
	w := newWorld()
	if _, err := newSink(t, &index{}, w, document.RevVersions{}).Apply(t.Context(), []change.Record{raw(`{"op":"t"}`)}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"user_meta"}, w.truncated); diff != "" {
		t.Error(diff)
	}
}

func TestTheNextIndexIsWrittenFirstAndMayGo(t *testing.T) {
	t.Parallel()
	record := []change.Record{event(change.Create, projection.Row{UserID: 1, LabID: 1, Rev: 1})}
	type script = []func([]document.Op) ([]indexsync.Fate, error)
	for name, c := range map[string]struct {
		script  script
		want    string // expected result, or kind of the fault
		sent    []string
		lookups int // lookups after a second call
		givenUp bool
	}{
		"both take it":            {script{say(0), say(0)}, "applied", []string{"next", "live"}, 1, false},
		"the next one is missing": {script{say(indexsync.Gone), say(0)}, "applied", []string{"next", "next", "live"}, 2, false},
		"the next one refuses":    {script{say(indexsync.Poison), say(0)}, "applied", []string{"next", "live"}, 1, false},
		"the live one is missing": {script{say(0), say(indexsync.Gone)}, "applied", []string{"next", "live", "next", "live"}, 2, false},
		"there is none":           {script{say(indexsync.Gone), say(indexsync.Gone), say(indexsync.Gone)}, "operator", []string{"next", "next", "next"}, 4, false},
		"the next one is broken":  {script{say(indexsync.Broken), say(0)}, "applied", []string{"next", "live"}, 2, true},
		"the live one is newer":   {script{say(0), say(indexsync.Superseded)}, "superseded", []string{"next", "live"}, 1, false},
	} {
		w, i := newWorld(), &index{script: c.script}
		w.targets = targets("next", "live")
		sink := newSink(t, i, w, document.RevVersions{})
		results, err := sink.Apply(t.Context(), record)
		got := strings.Join(words(results), " ")
		var fault *outcome.Fault
		if errors.As(err, &fault) && fault.Operator {
			got = "operator"
		}
		var sent []string
		for _, r := range i.sent {
			sent = append(sent, r.target)
		}
		if diff := cmp.Diff(c.sent, sent); diff != "" || got != c.want {
			t.Errorf("%s: %s, want %s: %s", name, got, c.want, diff)
		}
		if given := slices.Equal(w.givenUp, []string{"next_v1"}); given != c.givenUp {
			t.Errorf("%s: %q are given up", name, w.givenUp)
		}
		if _, err := sink.Apply(t.Context(), record); err != nil || w.lookups != c.lookups {
			t.Errorf("%s: %d lookups, want %d; error %v", name, w.lookups, c.lookups, err)
		}
	}
}

// overloaded is a fake that returns 429 for every operation on some indexes until a given time.
type overloaded struct {
	index
	until time.Time
	of    []string
}

func (o *overloaded) Bulk(ctx context.Context, target string, ops []document.Op) ([]indexsync.Fate, error) {
	if time.Now().Before(o.until) && slices.Contains(o.of, target) {
		return say(indexsync.Busy)(ops)
	}
	return o.index.Bulk(ctx, target, ops)
}

// TestARebuildOutlivesAMinuteOfRefusals checks that an index being filled survives a minute of overload, which the
// rebuild's own requests can cause, and is given up after four.
func TestARebuildOutlivesAMinuteOfRefusals(t *testing.T) {
	t.Parallel()
	record := []change.Record{event(change.Create, projection.Row{UserID: 1, LabID: 1, Rev: 1})}
	for _, c := range []struct {
		lasts   time.Duration
		of      []string
		givenUp bool
	}{
		{5 * time.Second, []string{"next", "live"}, false},
		{time.Minute, []string{"next", "live"}, false},
		{time.Minute, []string{"next"}, false},
		{4 * time.Minute, []string{"next"}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.targets = targets("next", "live")
			i := &overloaded{until: time.Now().Add(c.lasts), of: c.of}
			sink := newSink(t, i, w, document.RevVersions{})
			begin := time.Now()
			for { // like the consumer, which repeats the batch
				if _, err := sink.Apply(t.Context(), record); err == nil {
					break
				}
				time.Sleep(time.Second)
			}
			took := time.Since(begin)
			if given := len(w.givenUp) > 0; given != c.givenUp || took > c.lasts+15*time.Second {
				t.Errorf("429 of %v for %v: given up %v after %v", c.of, c.lasts, w.givenUp, took)
			}
			if len(c.of) == 1 && (len(i.sent) == 0 || i.sent[0].target != "live") {
				t.Errorf("searches wait for the next index: %+v", i.sent)
			}
		})
	}
}

// TestWhileABrokenIndexCannotBeGivenUpNothingIsMarked checks that a change missing in the next index is not marked
// before it is certain that this index will never be searched.
func TestWhileABrokenIndexCannotBeGivenUpNothingIsMarked(t *testing.T) {
	t.Parallel()
	record := []change.Record{event(change.Create, projection.Row{UserID: 1, LabID: 1, Rev: 1})}
	w, i := newWorld(), &index{script: []func([]document.Op) ([]indexsync.Fate, error){say(indexsync.Broken)}}
	w.targets, w.giveUp = targets("next", "live"), errors.New("the cluster has no master")
	if _, err := newSink(t, i, w, document.RevVersions{}).Apply(t.Context(), record); err == nil {
		t.Error("the records are marked")
	}
}

// TestEachIndexIsWrittenInItsOwnSchema checks that each index gets documents of its own schema, because mappings are
// strict.
func TestEachIndexIsWrittenInItsOwnSchema(t *testing.T) {
	t.Parallel()
	record := []change.Record{event(change.Create, projection.Row{UserID: 1, LabID: 1, Rev: 1, FullName: "Asha"})}
	w, i := newWorld(), &index{}
	w.targets = targets("next", "live")
	w.targets[1].Schema = document.OldSchema
	if _, err := newSink(t, i, w, document.RevVersions{}).Apply(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{userindex.Sounds, userindex.OldSounds} {
		if !strings.Contains(string(i.sent[n].ops[0].Body), `"`+want+`"`) {
			t.Errorf("%s is sent %s", i.sent[n].target, i.sent[n].ops[0].Body)
		}
	}
}

func TestTargetsAreLookedUpEveryTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		sink := newSink(t, &index{}, w, document.RevVersions{})
		record := []change.Record{event(change.Create, projection.Row{UserID: 1, LabID: 1, Rev: 1})}
		for range 41 { // from 0 to 4 s
			if _, err := sink.Apply(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // virtual time
		}
		if w.lookups != 3 {
			t.Errorf("%d lookups in 4 seconds", w.lookups)
		}
		w.err = outcome.Operator(errors.New("no index"), "make one")
		time.Sleep(2 * time.Second) // virtual time
		for range 2 {
			if _, err := sink.Apply(t.Context(), record); !outcome.FaultOf(err).Operator {
				t.Errorf("error %v", err)
			}
		}
		if w.lookups != 5 {
			t.Errorf("%d lookups; a failed one is not remembered", w.lookups)
		}
	})
}
