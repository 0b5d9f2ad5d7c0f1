package rerun_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

func TestEveryFlagAndEventHasTheDocumentedOutcome(t *testing.T) {
	t.Parallel()
	const redraw = rerun.Flag(1)
	for _, c := range []struct {
		from  rerun.Flag
		event rerun.Event
		to    rerun.Flag
		err   error
	}{
		{rerun.Normal, rerun.Request, rerun.Requested, nil},
		{rerun.Normal, rerun.Instrument, rerun.Fulfilled, nil},
		{rerun.Normal, rerun.Complete, rerun.Normal, rerun.ErrNotOpen},
		{rerun.Normal, rerun.Confirm, rerun.Normal, rerun.ErrNotOpen},
		{rerun.Normal, rerun.Abort, rerun.Normal, rerun.ErrNotOpen},
		{rerun.Requested, rerun.Request, rerun.Requested, rerun.ErrAlreadyRequested},
		{rerun.Requested, rerun.Instrument, rerun.Fulfilled, nil},
		{rerun.Requested, rerun.Complete, rerun.Fulfilled, nil},
		{rerun.Requested, rerun.Confirm, rerun.Normal, nil},
		{rerun.Requested, rerun.Abort, rerun.Normal, nil},
		{rerun.Fulfilled, rerun.Request, rerun.Requested, nil},
		{rerun.Fulfilled, rerun.Instrument, rerun.Fulfilled, nil},
		{rerun.Fulfilled, rerun.Complete, rerun.Fulfilled, nil},
		{rerun.Fulfilled, rerun.Confirm, rerun.Normal, nil},
		{rerun.Fulfilled, rerun.Abort, rerun.Normal, nil},
		{redraw, rerun.Request, redraw, rerun.ErrRedraw},
		{redraw, rerun.Instrument, redraw, rerun.ErrRedraw},
		{redraw, rerun.Complete, redraw, rerun.ErrRedraw},
		{redraw, rerun.Confirm, redraw, rerun.ErrRedraw},
		{redraw, rerun.Abort, redraw, rerun.ErrRedraw},
	} {
		to, err := c.from.Next(c.event)
		if to != c.to || !errors.Is(err, c.err) {
			t.Errorf("flag %d after event %d: %d, %v; want %d, %v", c.from, c.event, to, err, c.to, c.err)
		}
		dismissed := rerun.Report{Flag: c.from, Dismissed: true}
		if _, err := dismissed.Next(c.event); c.event != rerun.Abort && !errors.Is(err, rerun.ErrDismissed) {
			t.Errorf("event %d of a dismissed report: %v, want %v", c.event, err, rerun.ErrDismissed)
		}
	}
}

func TestTypesAreReadUnderAnyDocumentedName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rerun.Type{
		"Manual": rerun.Manual, "manual": rerun.Manual, "MANUAL_RERUN": rerun.Manual, "auto": rerun.Auto,
		" Auto_Rerun ": rerun.Auto,
		"":             "", "Instrument": "", "manuel": "",
	} {
		if got, ok := rerun.ParseType(text); got != want || ok != (want != "") {
			t.Errorf("type of %q: %q, %v; want %q", text, got, ok, want)
		}
	}
}

func TestPendingIsWhatWasRequestedLessWhatArrivedForTheSameNumber(t *testing.T) {
	t.Parallel()
	r := rerun.Record{Number: 2, Requested: []int{5, 1, 3}}
	values := []rerun.Value{{Number: 2, Index: 1}, {Number: 1, Index: 5}, {Number: 2, Index: 9}}
	if diff := cmp.Diff([]int{5, 3}, r.Pending(values)); diff != "" {
		t.Fatalf("pending (-want +got):\n%s", diff)
	}
	if n := rerun.HighestNumber([]rerun.Record{{Number: 2}, {Number: 7}, {Number: 1}}); n != 7 {
		t.Fatalf("highest number %d, want 7", n)
	}
}

func TestTheLedgerRemembersRepetitionsAcrossReruns(t *testing.T) {
	t.Parallel()
	var l rerun.Ledger
	note := func(category activitylog.Category, recent bool, meta string) { l.Note(category, []byte(meta), recent) }
	note(activitylog.RerunRequested, true, `{"rerun_id":"old","rerun_number":7}`)
	note(activitylog.RerunValuesReceived, false, `{"rerun_id":"x","rerun_number":8,"fingerprint":"ancient"}`)
	note(activitylog.RerunValuesReceived, true, `{"rerun_id":"y","rerun_number":9,"fingerprint":"f"}`)
	note(activitylog.RerunCancelled, true, `{}`)
	note(activitylog.RerunRequested, true, `{"rerun_id":"a","rerun_number":1,"requested_parameters":[3]}`)
	note(activitylog.RerunRequested, true, `{"other":"writer"}`)
	note(activitylog.RerunValuesReceived, true, `{"rerun_id":"a","rerun_number":1}`) // as version 1.0.0 wrote it
	note(activitylog.RerunValuesReceived, true, `{"rerun_id":"a","rerun_number":1,"message":"m"}`)
	note(activitylog.RerunValuesReceived, false, `{"rerun_id":"b","rerun_number":2,"fingerprint":"g"}`)
	want := rerun.Ledger{
		Requests:    []rerun.Mark{{RerunID: "a", Number: 1, Requested: []int{3}}},
		Repetitions: []rerun.Mark{{RerunID: "b", Number: 2, Fingerprint: "g"}},
		Messages:    []rerun.Mark{{RerunID: "a", Number: 1, Fingerprint: "m"}},
		Received:    map[string]bool{"f": true},
	}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestAnAnnouncementIsMadeOnceForEachSet(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 500_600, time.UTC)
	values := []rerun.Value{{Number: 1, Index: 3, Value: "4", CreatedAt: now}, {Number: 1, Index: 1, Value: "9", CreatedAt: now}}
	var f rerun.Facts
	if a := f.Announce(nil, true, now); a != nil {
		t.Errorf("no values and none before: %+v, want no message", a)
	}
	first := f.Announce(values, true, now)
	if first == nil || len(first.Values) != 2 || !first.AsOf.After(now) {
		t.Fatalf("announcement %+v, want two values and a time after they arrived", first)
	}
	f.Unconfirmed = first.Unconfirmed
	values[0], values[1] = values[1], values[0]
	if a := f.Announce(values, true, now.Add(time.Hour)); a != nil {
		t.Errorf("the same values in another order: %+v, want no message", a)
	}
	values[0].Value = "9.1"
	second := f.Announce(values, true, now.Add(-time.Hour)) // by a process whose clock is behind
	if second == nil || !second.AsOf.After(first.AsOf) {
		t.Fatalf("announcement %+v, want one after %v", second, first.AsOf)
	}
	f.Unconfirmed = second.Unconfirmed
	if a := f.Announce(values, false, now); a == nil || len(a.Values) != 0 || a.Digest != "" || !a.AsOf.After(second.AsOf) {
		t.Errorf("announcement of a closed rerun %+v, want an empty one after %v", a, second.AsOf)
	}
}
