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
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

func TestACrashAtEveryStepIsRepaired(t *testing.T) {
	t.Parallel()
	storetest.CrashTables(t, storetest.Memory)
}

func TestWhatNobodyArchivedIsArchivedBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	b := storetest.NewBench(t)
	c := b.Cases(nil)
	if err := storetest.Say(-1, "1=13.5 3=4.2")(b, c, 7001); err != nil {
		t.Fatal(err)
	}
	b.Change(7001, func(r *memory.Row) { r.Flag = rerun.Normal }) // closed by another program
	b.Sweep()
	s := b.State(7001)
	if len(s.Records)+len(s.Values) != 0 || s.Cached || len(s.Log[activitylog.RerunFailed]) != 1 {
		t.Fatalf("%+v", s)
	}
	var archive rerun.Snapshot
	if err := json.Unmarshal(s.Log[activitylog.RerunFailed][0], &archive); err != nil || len(archive.RerunValues) != 2 ||
		len(archive.Reruns) != 1 || archive.RerunValues[0].Value != "13.5" {
		t.Fatalf("%s %v", s.Log[activitylog.RerunFailed][0], err)
	}
	if b.Counts.Of(sweep.Archived) != 3 || b.Counts.Of(sweep.Deleted) != 3 {
		t.Fatalf("archived %d, deleted %d", b.Counts.Of(sweep.Archived), b.Counts.Of(sweep.Deleted))
	}
}

func TestDocumentsOfOtherProgramsAndOpenRerunsAreLeftAlone(t *testing.T) {
	t.Parallel()
	b := storetest.NewBench(t)
	c := b.Cases(nil)
	for report, act := range map[int64]storetest.Act{7001: storetest.Ask(1, 3), 7002: storetest.Ask(1)} {
		if err := act(b, c, report); err != nil {
			t.Fatal(err)
		}
	}
	b.Fixture.Disown()
	b.Change(7002, func(r *memory.Row) { r.Flag = rerun.Normal })
	if err := storetest.Say(-1, "1=9.9")(b, c, 7001); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.Sweep()
	}
	if s := b.State(7001); s.Flag != rerun.Fulfilled || len(s.Records) != 2 || len(s.Values) != 1 || !s.Cached {
		t.Fatalf("%+v", s)
	}
	if s := b.State(7002); len(s.Records) != 1 || s.Cached {
		t.Fatalf("%+v", s)
	}
}

func TestWhatIsYoungIsNotTouched(t *testing.T) {
	t.Parallel()
	b := storetest.NewBench(t)
	record := storetest.Record("12-young", 7001, rerun.Manual, 1, true)
	record.CreatedAt = storetest.Now
	if err := b.Documents.Insert(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	b.Hand.Move(5 * time.Minute)
	if err := b.Sweeper().RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := b.State(7001); len(s.Records) != 1 {
		t.Fatal("a request that may be under way was deleted")
	}
	b.Hand.Move(time.Millisecond)
	if err := b.Sweeper().RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := b.State(7001); len(s.Records) != 0 || b.Counts.Of(sweep.Uncommitted) != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestTheCacheIsRepairedInBothDirections(t *testing.T) {
	t.Parallel()
	b := storetest.NewBench(t)
	if err := storetest.Ask(1)(b, b.Cases(nil), 7001); err != nil {
		t.Fatal(err)
	}
	scope := storetest.Scope(t, 12)
	for id, open := range map[int64]bool{7001: false, 7002: true, 99: true} {
		if err := b.OpenSet.Set(t.Context(), scope, id, open); err != nil {
			t.Fatal(err)
		}
	}
	b.Sweep()
	entries, err := b.OpenSet.Entries(t.Context(), scope)
	if err != nil || len(entries) != 1 || entries[0] != 7001 || b.Counts.Of(sweep.Cached) != 3 {
		t.Fatalf("%v, %d repaired, %v", entries, b.Counts.Of(sweep.Cached), err)
	}
	b.Sweep()
	if n := b.Counts.Of(sweep.Cached); n != 3 {
		t.Fatalf("%d repaired although nothing was wrong", n-3)
	}
}

func TestOneSweeperLeadsAtATime(t *testing.T) {
	t.Parallel()
	b := storetest.NewBench(t)
	if err := b.Documents.Insert(t.Context(), storetest.Record("12-a", 7001, rerun.Manual, 1, true)); err != nil {
		t.Fatal(err)
	}
	err := b.Reports.Lead(t.Context(), func(context.Context) error {
		b.Sweep()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := b.State(7001); len(s.Records) != 1 {
		t.Fatal("a second sweeper worked")
	}
	b.Sweep()
	if s := b.State(7001); len(s.Records) != 0 {
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

// asked notes of which laboratories the cache was read.
type asked struct {
	sweep.OpenSet
	labs *[]int64
}

func (a asked) Entries(ctx context.Context, scope authn.LabScope) ([]int64, error) {
	*a.labs = append(*a.labs, scope.LabID())
	return a.OpenSet.Entries(ctx, scope)
}

// TestLaboratoriesWithoutAnythingOpenAreAskedOnceAnHour: the first pass looks at all of them, the next ones at those with
// an open rerun or documents, and after an hour at all again.
func TestLaboratoriesWithoutAnythingOpenAreAskedOnceAnHour(t *testing.T) {
	t.Parallel()
	b := storetest.NewBench(t)
	var labs []int64
	s := sweep.New(sweep.Deps{
		Config: sweep.Config{Interval: time.Minute, Age: 5 * time.Minute}, Leader: b.Reports, Reports: storetest.Sweeps{Reports: b.Reports},
		Documents: b.Documents, OpenSet: asked{b.OpenSet, &labs}, Clock: b.Hand, Log: slog.New(slog.DiscardHandler), Counters: b.Counts,
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
		t.Fatalf("the first pass looks at %v", all)
	}
	if got := pass(); len(got) != 0 {
		t.Fatalf("nothing is open, and %v are asked", got)
	}
	if err := storetest.Ask(1, 3)(b, b.Cases(nil), 7001); err != nil {
		t.Fatal(err)
	}
	if got := pass(); len(got) != 1 || got[0] != 12 {
		t.Fatalf("laboratory 12 has an open rerun, and %v are asked", got)
	}
	b.Hand.Move(time.Hour)
	if got := pass(); len(got) != len(all) {
		t.Fatalf("after an hour %v are asked of %v", got, all)
	}
}
