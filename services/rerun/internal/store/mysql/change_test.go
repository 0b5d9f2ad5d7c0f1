package mysql_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

var everything = rerun.Wants{Tests: true, Ledger: true, Archived: true, Results: true}

// full returns a change with all possible parts.
func full() rerun.Change {
	to := rerun.Fulfilled
	return rerun.Change{
		Flag: &to, Unsign: true, Confirmed: []rerun.Result{{Index: 1, Value: "9.2"}}, Evaluate: true,
		Entry: &activitylog.Entry{Category: activitylog.RerunRequested, Actor: storetest.Asha, At: storetest.Now,
			Meta: map[string]any{"rerun_id": "12-a", "rerun_number": 1, "requested_parameters": []int{1, 3}}},
		Announce: &rerun.Announcement{Unconfirmed: rerun.Unconfirmed{AsOf: storetest.Now, Digest: "d"}},
	}
}

func TestAChangeIsAllOrNothing(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	f.Set(storetest.Report, "isApproved", 1)
	scope := storetest.Scope(t, 12)
	read := func() rerun.Facts {
		t.Helper()
		facts, err := f.Reports.Read(t.Context(), scope, storetest.Report, everything)
		if err != nil {
			t.Fatal(err)
		}
		return facts
	}
	before := read()
	boom := errors.New("boom")
	for _, failing := range []error{boom, nil} {
		err := f.Reports.Change(t.Context(), scope, storetest.Report, everything, func(got rerun.Facts) (rerun.Change, error) {
			if diff := cmp.Diff(before, got); diff != "" {
				t.Errorf("facts under the lock (-without +under):\n%s", diff)
			}
			return full(), failing
		})
		if !errors.Is(err, failing) {
			t.Fatalf("error = %v, want %v", err, failing)
		}
		if diff := cmp.Diff(before, read()); failing != nil && diff != "" {
			t.Errorf("a failed change (-before +after):\n%s", diff)
		}
	}
	after := read()
	want := before
	want.Report.Flag, want.Report.Signed = rerun.Fulfilled, false
	want.Unconfirmed = rerun.Unconfirmed{AsOf: storetest.Now, Digest: "d"}
	want.Results = []rerun.Result{{Index: 1, Value: "9.2"}}
	want.Ledger.Requests = []rerun.Mark{{RerunID: "12-a", Number: 1, Requested: []int{1, 3}}}
	if diff := cmp.Diff(want, after, cmpopts.IgnoreFields(rerun.Result{}, "ID")); diff != "" {
		t.Errorf("facts after the change (-want +got):\n%s", diff)
	}
	if log := f.Log(storetest.Report); len(log) != 1 || log[0].Actor != storetest.Asha || log[0].BillID != 401 {
		t.Errorf("log %+v, want one entry of Asha and bill 401", log)
	}
	if n, m := len(f.Sent(storetest.Report, "evaluate")), len(f.Sent(storetest.Report, "unconfirmed")); n != 1 || m != 1 {
		t.Errorf("%d evaluations and %d announcements, want one each", n, m)
	}
}

func TestOnlyTheLaboratorysReportsAreFound(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	for id, lab := range map[int64]int64{storetest.ForeignReport: 12, storetest.Report: 13, 99: 12} {
		_, err := f.Reports.Read(t.Context(), storetest.Scope(t, lab), id, everything)
		locked := f.Reports.Change(t.Context(), storetest.Scope(t, lab), id, everything,
			func(rerun.Facts) (rerun.Change, error) { return full(), nil })
		if !apperr.Is(err, apperr.NotFound) || !apperr.Is(locked, apperr.NotFound) {
			t.Errorf("report %d for laboratory %d: %v and %v, want NotFound", id, lab, err, locked)
		}
	}
}

func TestAReportIsChangedByOneAtATime(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	const workers = 8
	inside := 0 // guarded by the tested lock; the race detector checks it
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			err := f.Reports.Change(t.Context(), storetest.Scope(t, 12), storetest.Report, rerun.Wants{},
				func(got rerun.Facts) (rerun.Change, error) {
					inside++
					at := got.Unconfirmed.AsOf
					if at.IsZero() {
						at = storetest.Now
					}
					next := rerun.Unconfirmed{AsOf: at.Add(time.Millisecond), Digest: "d"}
					return rerun.Change{Announce: &rerun.Announcement{Unconfirmed: next}}, nil
				})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	// State checks that as_of increases from message to message.
	if s := f.State(storetest.Report); s.Sent != workers || inside != workers {
		t.Errorf("%d messages of %d changes, want %d", s.Sent, inside, workers)
	}
}

func TestTheLedgerSpansThirtyDays(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	note := func(category activitylog.Category, meta any) {
		t.Helper()
		err := f.Reports.Change(t.Context(), storetest.Scope(t, 12), storetest.Report, rerun.Wants{},
			func(rerun.Facts) (rerun.Change, error) {
				return rerun.Change{Entry: &activitylog.Entry{Category: category, At: f.Clock.Now(), Meta: meta}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	received := func(id string, number int, fingerprint string) {
		t.Helper()
		note(activitylog.RerunValuesReceived, map[string]any{"rerun_id": id, "rerun_number": number, "fingerprint": fingerprint})
	}
	received("old", 1, "ancient")
	f.Clock.Advance(rerun.RememberFor)
	received("b", 2, "f")
	note(activitylog.RerunCancelled, rerun.Archive([]rerun.Record{{ID: "old"}}, []rerun.Value{{ID: "value"}}))
	received("a", 1, "g")
	f.Clock.Advance(time.Second)
	facts, err := f.Reports.Read(t.Context(), storetest.Scope(t, 12), storetest.Report, everything)
	want := rerun.Ledger{Repetitions: []rerun.Mark{{RerunID: "a", Number: 1, Fingerprint: "g"}},
		Received: map[string]bool{"f": true, "g": true}}
	if diff := cmp.Diff(want, facts.Ledger); diff != "" || err != nil {
		t.Errorf("ledger, %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(map[string]bool{"old": true, "value": true}, facts.Archived); diff != "" {
		t.Errorf("archived documents (-want +got):\n%s", diff)
	}
}

func TestOpenReportsAreFoundAPageAtATime(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	for id, flag := range map[int64]rerun.Flag{100: 3, 101: 0, 102: 4, 103: 3} {
		f.AddReport(id)
		f.Set(id, "sampleRedrawFlag", int(flag))
	}
	state := func(flag rerun.Flag) sweep.State { return sweep.State{Flag: flag} }
	for _, page := range []struct {
		after int64
		limit int
		want  map[int64]sweep.State
	}{
		{0, 2, map[int64]sweep.State{100: state(3), 102: state(4)}}, {100, 9, map[int64]sweep.State{102: state(4), 103: state(3)}}, {103, 9, nil},
	} {
		got, err := f.Reports.OpenReports(t.Context(), storetest.Scope(t, 12), page.after, page.limit)
		if diff := cmp.Diff(page.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%d above %d, %v (-want +got):\n%s", page.limit, page.after, err, diff)
		}
	}
	states, err := f.Reports.States(t.Context(), storetest.Scope(t, 12), []int64{102, 101, 99, storetest.ForeignReport})
	if diff := cmp.Diff(map[int64]sweep.State{102: state(4), 101: state(0)}, states); diff != "" || err != nil {
		t.Errorf("states, %v (-want +got):\n%s", err, diff)
	}
	for open, want := range map[bool][]int64{false: {12, 13}, true: {12}} {
		if got, err := f.Reports.Laboratories(t.Context(), open); err != nil || !slices.Equal(got, want) {
			t.Errorf("laboratories with open reruns %v: %v, %v; want %v", open, got, err, want)
		}
	}
}

func TestOneProcessLeads(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	led := 0
	work := func(context.Context) error { led++; return nil }
	lead := func(work func(context.Context) error) {
		t.Helper()
		if err := f.Reports.Lead(t.Context(), work); err != nil {
			t.Fatal(err)
		}
	}
	lead(func(ctx context.Context) error { return f.Reports.Lead(ctx, work) })
	if lead(work); led != 1 {
		t.Fatalf("%d led, want only the second one", led)
	}
}
