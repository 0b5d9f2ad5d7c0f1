package materialize_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// users is a fake that stores the targets it receives.
type users struct {
	targets []materialize.Target
	poison  map[int64]*materialize.Poison
	err     error
}

func (u *users) Recompute(_ context.Context, targets []materialize.Target) (materialize.Summary, error) {
	u.targets = append(u.targets, targets...)
	return materialize.Summary{Poison: u.poison}, u.err
}

func (u *users) ids() []int64 {
	ids := map[int64]bool{}
	for _, t := range u.targets {
		ids[t.UserID] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

type tables struct {
	truncated []string
	err       error
}

func (t *tables) Truncated(_ context.Context, table string) error {
	t.truncated = append(t.truncated, table)
	return t.err
}

func record(table, value string) change.Record {
	return change.Record{Topic: "lab.lab." + table, Key: []byte(`{"id":501}`), Value: []byte(value)}
}

// event returns a change of a row; user 0 means that the image is missing.
func event(table, op string, row, before, after int64, at time.Time) change.Record {
	image := func(user int64) string {
		switch {
		case user == 0:
			return "null"
		case table == change.UserDetails:
			return fmt.Sprintf(`{"id":%d,"labId_id":1,"updatedOn":"2026-11-21T08:59:59.5Z"}`, user)
		}
		return fmt.Sprintf(`{"id":%d,"labId_id":1,"userDetailsId_id":%d,"updatedOn":"2026-11-21T08:59:59.5Z"}`, row, user)
	}
	return record(table, fmt.Sprintf(`{"op":%q,"before":%s,"after":%s,"source":{"ts_ms":%d}}`, op, image(before), image(after), at.UnixMilli()))
}

func apply(t testing.TB, u *users, tb *tables, records ...change.Record) []outcome.Result {
	t.Helper()
	results, err := materialize.NewSink(u, tb, clock.Fixed(now)).Apply(t.Context(), records)
	if err != nil || len(results) != len(records) {
		t.Fatalf("%d results of %d records, %v", len(results), len(records), err)
	}
	return results
}

func TestAnEventNamesThePatientsOfBothImages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record change.Record
		want   []int64
	}{
		"a new patient":                    {event(change.UserDetails, "c", 0, 0, 501, now), []int64{501}},
		"a patient changed":                {event(change.UserDetails, "u", 0, 501, 501, now), []int64{501}},
		"a patient deleted":                {event(change.UserDetails, "d", 0, 501, 0, now), []int64{501}},
		"a patient deleted, by key":        {event(change.UserDetails, "d", 0, 0, 0, now), []int64{501}},
		"a bill read":                      {event(change.Billing, "r", 7, 0, 502, now), []int64{502}},
		"a bill from one to another":       {event(change.Billing, "u", 7, 501, 502, now), []int64{501, 502}},
		"a bill changed, before unknown":   {event(change.Billing, "u", 7, 0, 502, now), []int64{502}},
		"a report deleted":                 {event(change.LabReportRelation, "d", 7, 503, 0, now), []int64{503}},
		"a report from one to another, in": {event(change.LabReportRelation, "u", 7, 503, 501, now), []int64{501, 503}},
	} {
		u := &users{}
		if got := apply(t, u, nil, c.record); got[0].Kind != outcome.Applied || !cmp.Equal(u.ids(), c.want) {
			t.Errorf("%s: %v, %+v", name, u.ids(), got)
		}
	}
}

func TestWhatAnEventShowedIsHandedOn(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 8, 59, 59, 5e8, time.UTC)
	for name, c := range map[string]struct {
		record change.Record
		want   []materialize.Seen
	}{
		"a change":           {event(change.Billing, "u", 7, 501, 501, now), []materialize.Seen{{Table: change.Billing, RowID: 7, UpdatedOn: at}}},
		"a move":             {event(change.Billing, "u", 7, 502, 501, now), []materialize.Seen{{Table: change.Billing, RowID: 7, UpdatedOn: at}}},
		"a delete":           {event(change.UserDetails, "d", 0, 501, 0, now), []materialize.Seen{{Table: change.UserDetails, RowID: 501, UpdatedOn: at, Gone: true}}},
		"a snapshot's row":   {event(change.Billing, "r", 7, 0, 501, now), nil},
		"one of a backlog":   {event(change.Billing, "c", 7, 0, 501, now.Add(-2*time.Minute)), nil},
		"one without source": {record(change.Billing, `{"op":"c","after":{"id":7,"userDetailsId_id":501}}`), nil},
	} {
		u := &users{}
		apply(t, u, nil, c.record)
		for _, target := range u.targets { // includes the patient of the image before
			if diff := cmp.Diff(c.want, target.Seen, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: got %s, want none", name, diff)
			}
		}
	}
}

func TestARecordThatAsksForNothingIsSkippedOrDead(t *testing.T) {
	t.Parallel()
	tombstone := record(change.Billing, "")
	tombstone.Value = nil
	for name, c := range map[string]struct {
		record change.Record
		want   outcome.Result
	}{
		"a tombstone":                   {tombstone, outcome.Skip("tombstone")},
		"a message":                     {record(change.Billing, `{"op":"m"}`), outcome.Skip("message")},
		"an operation of the future":    {record(change.Billing, `{"op":"x"}`), outcome.Skip("unknown_op")},
		"another table":                 {record("cdc_signal", `{"op":"c","after":{}}`), outcome.Skip("unknown_table")},
		"no JSON":                       {record(change.Billing, `Asha`), outcome.Died("decode", "malformed", nil)},
		"no owner":                      {record(change.Billing, `{"op":"c","after":{"id":1}}`), outcome.Died("decode", "malformed", nil)},
		"an owner that is a text":       {record(change.Billing, `{"op":"c","after":{"id":1,"userDetailsId_id":"Asha"}}`), outcome.Died("decode", "malformed", nil)},
		"a bill deleted, no one's":      {record(change.Billing, `{"op":"d","before":null}`), outcome.Died("decode", "malformed", nil)},
		"a patient deleted, key broken": {change.Record{Topic: "x.userDetails", Key: []byte(`{"id":"Asha"}`), Value: []byte(`{"op":"d"}`)}, outcome.Died("decode", "malformed", nil)},
	} {
		u := &users{}
		got := apply(t, u, nil, c.record)[0]
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(outcome.Result{}, "Err")); diff != "" {
			t.Errorf("%s: got %s, want none", name, diff)
		}
		if (got.Err == nil) == (got.Kind == outcome.Dead) || len(u.targets) > 0 {
			t.Errorf("%s: error %v, targets %v", name, got.Err, u.targets)
		}
		if got.Err != nil && strings.Contains(got.Err.Error(), "Asha") {
			t.Errorf("%s: the error quotes the row: %v", name, got.Err)
		}
	}
}

func TestARecordIsCoalescedWhenLaterOnesNameAllItsPatients(t *testing.T) {
	t.Parallel()
	u := &users{poison: map[int64]*materialize.Poison{9: {Reason: "too_long", Err: errors.New("column x")}}}
	got := apply(t, u, nil,
		event(change.Billing, "u", 1, 1, 2, now),           // patients 1 and 2 are named again later
		event(change.UserDetails, "u", 0, 1, 1, now),       // patient 1 is named again later
		event(change.Billing, "c", 3, 0, 9, now),           // patient 9 is named again later; its row is rejected
		event(change.LabReportRelation, "c", 4, 0, 1, now), // the last one that names patient 1
		event(change.Billing, "u", 5, 2, 9, now),           // the last one that names 2 and 9; the row of 9 is rejected
		event(change.Billing, "u", 5, 3, 3, now),           // the only one that names patient 3
	)
	want := []outcome.Result{{Kind: outcome.Coalesced}, {Kind: outcome.Coalesced}, {Kind: outcome.Coalesced}, {Kind: outcome.Applied},
		{Kind: outcome.Dead, Sink: "sql", Reason: "too_long"}, {Kind: outcome.Applied}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(outcome.Result{}, "Err")); diff != "" {
		t.Fatal(diff)
	}
}

// TestEveryRecordIsAccountedFor checks that every record has exactly one result, and that every named patient is
// computed and reflected in the result of one record.
func TestEveryRecordIsAccountedFor(t *testing.T) {
	t.Parallel()
	property.Check(t, func(rt *rapid.T) {
		u := &users{poison: map[int64]*materialize.Poison{1: {Reason: "too_long", Err: errors.New("x")}}}
		var records []change.Record
		named := map[int64]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "records") {
			if rapid.IntRange(0, 4).Draw(rt, "kind") == 0 {
				records = append(records, record(change.Billing, rapid.SampledFrom([]string{"", "{", `{"op":"x"}`}).Draw(rt, "value")))
				continue
			}
			before, after := rapid.Int64Range(0, 4).Draw(rt, "before"), rapid.Int64Range(1, 4).Draw(rt, "after")
			records = append(records, event(change.Billing, "u", 1, before, after, now))
			named[after] = true
			if before > 0 {
				named[before] = true
			}
		}
		results := apply(t, u, nil, records...)
		stands := 0
		for _, r := range results {
			if r.Kind == outcome.Applied || r.Kind == outcome.Dead && r.Sink == "sql" {
				stands++
			}
		}
		if want := slices.Sorted(maps.Keys(named)); !slices.Equal(u.ids(), want) || (stands == 0) != (len(named) == 0) || stands > len(named) {
			rt.Fatalf("named %v, computed %v, %d records stand for them", want, u.ids(), stands)
		}
	})
}

func TestATruncatedTableIsHandedOnOnce(t *testing.T) {
	t.Parallel()
	u, tb := &users{}, &tables{}
	truncate := change.Record{Topic: "lab.lab.billing", Value: []byte(`{"op":"t","source":{"ts_ms":1}}`)}
	got := apply(t, u, tb, truncate, truncate)
	if got[0].Kind != outcome.Applied || got[1].Kind != outcome.Applied || !slices.Equal(tb.truncated, []string{"billing"}) || len(u.targets) > 0 {
		t.Fatalf("%+v, %v", got, tb.truncated)
	}
	tb.err = errors.New("database away")
	if _, err := materialize.NewSink(u, tb, clock.Fixed(now)).Apply(t.Context(), []change.Record{truncate}); outcome.FaultOf(err).Operator || err == nil {
		t.Fatalf("got %v", err)
	}
}

func TestAFaultOfTheDatabaseConcernsTheWholeBatch(t *testing.T) {
	t.Parallel()
	u := &users{err: outcome.Operator(errors.New("no table"), "migrate")}
	results, err := materialize.NewSink(u, nil, clock.Fixed(now)).Apply(t.Context(), []change.Record{record(change.Billing, "{"), event(change.Billing, "c", 1, 0, 1, now)})
	if fault := outcome.FaultOf(err); results != nil || !fault.Operator || fault.Advice != "migrate" {
		t.Fatalf("%v, %v", results, err)
	}
}
