package sweep_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

func TestDocumentsAreArchivedBeforeTheyAreDeleted(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	if err := say(-1, "1=13.5 3=4.2")(t, f.Cases, 7001); err != nil {
		t.Fatal(err)
	}
	f.Set(7001, "sampleRedrawFlag", 0) // closed by another program
	f.Sweep()
	s := f.State(7001)
	if len(s.Records)+len(s.Values) != 0 || s.Cached || len(s.Log[activitylog.RerunFailed]) != 1 {
		t.Fatalf("unexpected state %+v", s)
	}
	var archive rerun.Snapshot
	if err := json.Unmarshal(s.Log[activitylog.RerunFailed][0], &archive); err != nil || len(archive.RerunValues) != 2 ||
		len(archive.Reruns) != 1 || archive.RerunValues[0].Value != "13.5" {
		t.Fatalf("%s %v", s.Log[activitylog.RerunFailed][0], err)
	}
	if f.Counts.Of(sweep.Archived) != 3 || f.Counts.Of(sweep.Deleted) != 3 {
		t.Fatalf("archived %d, deleted %d", f.Counts.Of(sweep.Archived), f.Counts.Of(sweep.Deleted))
	}
}

func TestDocumentsOfOtherProgramsAndOpenRerunsAreKept(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	for report, request := range map[int64]act{7001: ask(1, 3), 7002: ask(1)} {
		if err := request(t, f.Cases, report); err != nil {
			t.Fatal(err)
		}
	}
	f.Disown()
	f.Set(7002, "sampleRedrawFlag", 0)
	if err := say(-1, "1=9.9")(t, f.Cases, 7001); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.Sweep()
	}
	if s := f.State(7001); s.Flag != rerun.Fulfilled || len(s.Records) != 2 || len(s.Values) != 1 || !s.Cached {
		t.Fatalf("unexpected state %+v", s)
	}
	if s := f.State(7002); len(s.Records) != 1 || s.Cached {
		t.Fatalf("unexpected state %+v", s)
	}
}

// TestTheNewestRequestIsCompleted closes two requests without a confirm, and then stores the values of a third request,
// whose number is lower, without their commit.
func TestTheNewestRequestIsCompleted(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	for _, act := range []act{ask(1), say(1, "1=9.1"), ask(1)} {
		if err := act(t, f.Cases, 7001); err != nil {
			t.Fatal(err)
		}
	}
	f.Set(7001, "sampleRedrawFlag", 0) // closed by another program
	f.Sweep()
	number, err := f.Ask(t, 7001, 3)
	if err != nil {
		t.Fatal(err)
	}
	f.Insert(nil, rerun.Value{ID: "left", LabID: 12, ReportID: 7001, SampleID: "S-1", Number: number, Index: 3, Value: "4.2",
		CreatedAt: f.Clock.Now()})
	f.Sweep()
	if s := f.State(7001); s.Flag != rerun.Fulfilled || f.Counts.Of(sweep.Completed) != 1 {
		t.Errorf("flag %d, %d completed; want flag 4 and one", s.Flag, f.Counts.Of(sweep.Completed))
	}
}

func TestYoungDocumentsAreKept(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	record := storetest.Record("12-young", 7001, rerun.Manual, 1, true)
	record.CreatedAt = storetest.Now
	f.Insert(record)
	f.Clock.Advance(5 * time.Minute)
	if err := f.Sweeper().RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := f.State(7001); len(s.Records) != 1 {
		t.Fatal("a request that may be under way was deleted")
	}
	f.Clock.Advance(time.Millisecond)
	if err := f.Sweeper().RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := f.State(7001); len(s.Records) != 0 || f.Counts.Of(sweep.Uncommitted) != 1 {
		t.Fatalf("unexpected state %+v", s)
	}
}

// TestTheDocumentsOfADeletedReportAreKept: the laboratory was removed. Its documents stay for the legal period, and no
// pass of the sweeper reports a failure.
func TestTheDocumentsOfADeletedReportAreKept(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	f.Insert(storetest.Record("12-gone", 99, rerun.Manual, 1, true), rerun.Value{ID: "gone", LabID: 12, ReportID: 99, Number: 1, Index: 1,
		Value: "9.1", CreatedAt: storetest.Now})
	f.Sweep()
	values, err := f.Documents.ValuesOfReports(t.Context(), storetest.Scope(t, 12), []int64{99})
	if n := f.Counts.Of(sweep.Failed); err != nil || len(values) != 1 || n != 0 {
		t.Errorf("%d values, %d failures, %v; want the value and no failure", len(values), n, err)
	}
}

func TestTheCacheIsRepairedInBothDirections(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	if err := ask(1)(t, f.Cases, 7001); err != nil {
		t.Fatal(err)
	}
	scope := storetest.Scope(t, 12)
	for id, open := range map[int64]bool{7001: false, 7002: true, 99: true} {
		if err := f.OpenSet.Set(t.Context(), scope, id, open); err != nil {
			t.Fatal(err)
		}
	}
	f.Sweep()
	entries, err := f.OpenSet.Entries(t.Context(), scope)
	if err != nil || len(entries) != 1 || entries[0] != 7001 || f.Counts.Of(sweep.Cached) != 3 {
		t.Fatalf("%v, %d repaired, %v", entries, f.Counts.Of(sweep.Cached), err)
	}
	f.Sweep()
	if n := f.Counts.Of(sweep.Cached); n != 3 {
		t.Fatalf("%d repaired although nothing was wrong", n-3)
	}
}

func TestOneSweeperLeadsAtATime(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	f.Insert(storetest.Record("12-a", 7001, rerun.Manual, 1, true))
	err := f.Reports.Lead(t.Context(), func(context.Context) error {
		f.Sweep()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := f.State(7001); len(s.Records) != 1 {
		t.Fatal("a second sweeper worked")
	}
	f.Sweep()
	if s := f.State(7001); len(s.Records) != 0 {
		t.Fatal("the lock was not given back")
	}
}

func TestAnAgeBelowTheDeadlinesIsRefused(t *testing.T) {
	t.Parallel()
	if err := (&sweep.Config{Interval: time.Minute, Age: 5 * time.Minute}).Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []sweep.Config{{Interval: time.Minute, Age: time.Second}, {Age: time.Hour}} {
		if c.Validate() == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// checked records the laboratories whose cache was read.
type checked struct {
	sweep.OpenSet
	labs *[]int64
}

func (a checked) Entries(ctx context.Context, scope authn.LabScope) ([]int64, error) {
	*a.labs = append(*a.labs, scope.LabID())
	return a.OpenSet.Entries(ctx, scope)
}

// The first pass must check all laboratories, the next ones those with an open rerun or documents. After an hour, all
// are checked again.
func TestLaboratoriesWithoutAnythingOpenAreCheckedOnceAnHour(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	var labs []int64
	s := sweep.New(sweep.Deps{
		Config: sweep.Config{Interval: time.Minute, Age: 5 * time.Minute}, Leader: f.Reports, Reports: f.Reports,
		Documents: f.Documents, OpenSet: checked{f.OpenSet, &labs}, Clock: f.Clock, Log: slog.New(slog.DiscardHandler), Counters: f.Counts,
	})
	pass := func() (seen []int64) {
		t.Helper()
		labs = nil
		if err := s.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		return labs
	}
	all := pass()
	if len(all) < 2 {
		t.Fatalf("the first pass checks %v, want all", all)
	}
	if got := pass(); len(got) != 0 {
		t.Fatalf("nothing is open, and %v are checked, want none", got)
	}
	if err := ask(1, 3)(t, f.Cases, 7001); err != nil {
		t.Fatal(err)
	}
	if got := pass(); len(got) != 1 || got[0] != 12 {
		t.Fatalf("laboratory 12 has an open rerun, and %v are checked, want 12", got)
	}
	f.Clock.Advance(time.Hour)
	if got := pass(); len(got) != len(all) {
		t.Fatalf("after an hour %v are checked, want %v", got, all)
	}
}

func TestValuesThatTheCalloutServiceDoesNotKnowAreSentToIt(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	if err := say(-1, "1=9.1")(t, f.Cases, 7001); err != nil {
		t.Fatal(err)
	}
	f.Exec("DELETE FROM rerun_unconfirmed") // a rerun that was opened under version 1.0.0
	f.Exec("DELETE FROM outbox_rerun")
	for range 2 {
		f.Sweep()
	}
	if s := f.State(7001); len(s.Announced) != 1 || s.Sent != 1 || f.Counts.Of(sweep.Announced) != 1 {
		t.Fatalf("%d messages with %v, %d counted; want one with the value", s.Sent, s.Announced, f.Counts.Of(sweep.Announced))
	}
	late := rerun.Value{ID: "v", LabID: 12, ReportID: 7001, Number: 1, Index: 3, Value: "4.2", CreatedAt: f.Clock.Now()}
	f.Insert(nil, late) // from a process that crashed before its commit
	f.Sweep()
	if s := f.State(7001); len(s.Announced) != 2 {
		t.Fatalf("the callout service knows %v, want both values", s.Announced)
	}
	f.Set(7001, "sampleRedrawFlag", 0) // closed by another program
	f.Sweep()
	if s := f.State(7001); len(s.Announced) != 0 || len(s.Values) != 0 {
		t.Fatalf("the callout service knows %v of %v, want nothing", s.Announced, s.Values)
	}
}

func TestWhatWasAnnouncedIsForgottenAfterThirtyDays(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	for _, report := range []int64{7001, 7003} {
		if report != 7001 {
			f.AddReport(report)
		}
		if err := say(-1, "1=9.1")(t, f.Cases, report); err != nil {
			t.Fatal(err)
		}
	}
	if err := abort(t, f.Cases, 7001); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 1} {
		f.Sweep()
		var n int
		if err := f.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM rerun_unconfirmed").Scan(&n); err != nil || n != want {
			t.Errorf("%d rows, %v; want %d", n, err, want)
		}
		f.Clock.Advance(31 * 24 * time.Hour)
	}
}
