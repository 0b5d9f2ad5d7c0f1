package request_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/aftercommit"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// bench is the use case in memory. A test may replace reports, records or the cache to make a step fail.
type bench struct {
	*storetest.Bench
	t       *testing.T
	reports request.Reports
	records request.Records
	store   storetest.Documents
	cache   storetest.OpenSet
	index   index
	counts  *counts
	ids     atomic.Int64
}

type counts struct {
	mu     sync.Mutex
	failed map[string]int
}

func (c *counts) Requested(rerun.Type) {}

func (c *counts) Failed(step string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[step]++
}

type atOnce struct{ counts *counts }

func (a atOnce) Do(ctx context.Context, _ int64, name string, work func(context.Context) error) {
	if err := work(ctx); err != nil {
		a.counts.Failed(name)
	}
}

// index fails with err, which never fails a request.
type index struct{ err error }

func (i index) SyncUser(context.Context, authn.LabScope, int64) error { return i.err }

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{Bench: storetest.NewBench(t), t: t, counts: &counts{failed: map[string]int{}}}
	b.store, b.records, b.cache, b.reports = b.Documents, b.Documents, b.OpenSet, storetest.Requests{Reports: b.Reports}
	return b
}

func (b *bench) request(c request.Command) (rerun.Record, error) {
	b.t.Helper()
	after := aftercommit.New(aftercommit.Deps{
		Queue: atOnce{b.counts}, Flags: b.Reports, OpenSet: b.cache, Index: b.index, Documents: b.store,
	})
	u := request.New(request.Deps{
		Reports: b.reports, Records: b.records, AfterCommit: after, Clock: clock.Fixed(now),
		NewID: func() string { return fmt.Sprintf("id-%d", b.ids.Add(1)) },
		Log:   slog.New(slog.DiscardHandler), Counters: b.counts,
	})
	return u.Request(b.t.Context(), storetest.Scope(b.t, 12), c)
}

func manual(number int, indices ...int) request.Command {
	return request.Command{ReportID: storetest.Report, Type: rerun.Manual, Number: number, Requested: indices,
		Actor: authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}}
}

func automatic(indices ...int) request.Command {
	c := manual(1, indices...)
	c.Type, c.Actor = rerun.Auto, authn.Platform
	return c
}

func (b *bench) must(c request.Command) rerun.Record {
	b.t.Helper()
	r, err := b.request(c)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) refused(c request.Command, kind apperr.Kind, reason string) {
	b.t.Helper()
	_, err := b.request(c)
	e, ok := apperr.From(err)
	if !ok || e.Kind != kind || e.Reason != reason {
		b.t.Fatalf("error = %v (%+v), want kind %d and %s", err, e, kind, reason)
	}
}

func (b *bench) flag() rerun.Flag { return b.Fixture.Get(storetest.Report).Flag }

func (b *bench) setFlag(f rerun.Flag) {
	b.Change(storetest.Report, func(r *memory.Row) { r.Flag = f })
}

func (b *bench) stored() []rerun.Record {
	b.t.Helper()
	records, err := b.store.OfReport(b.t.Context(), storetest.Scope(b.t, 12), storetest.Report)
	if err != nil {
		b.t.Fatal(err)
	}
	return records
}

// log returns the meta of the entries of a category, with who did it.
func (b *bench) log(category activitylog.Category) []map[string]any {
	b.t.Helper()
	var entries []map[string]any
	for _, e := range b.Fixture.Get(storetest.Report).Log {
		if e.Category != category {
			continue
		}
		entry := map[string]any{}
		if err := json.Unmarshal(e.Meta, &entry); err != nil {
			b.t.Fatal(err)
		}
		entry["user"], entry["name"], entry["bill"] = e.Actor.ID, e.Actor.Name, e.BillID
		entries = append(entries, entry)
	}
	return entries
}

func (b *bench) cached() bool { return b.State(storetest.Report).Cached }

func TestARequestIsSavedFlaggedLoggedAndCached(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := b.must(manual(0, 3, 1, 8))
	want := rerun.Record{ID: "12-id-1", LabID: 12, ReportID: 7001, Type: rerun.Manual, Number: 1,
		Requested:      []int{3, 1, 8},
		ParameterNames: []string{"White cells", "Haemoglobin", "ESR"}, Active: true, CreatedBy: 77, CreatedByKind: "lab_user", UpdatedBy: 77,
		CreatedAt: now, UpdatedAt: now}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]rerun.Record{want}, b.stored()); diff != "" {
		t.Fatal(diff)
	}
	entries := []map[string]any{{"user": int64(77), "name": "Asha R", "bill": int64(401),
		"rerun_id": "12-id-1", "rerun_number": 1.0, "type": "Manual", "requested_parameters": []any{3.0, 1.0, 8.0},
		"old": map[string]any{"sampleRedrawFlag": 0.0}, "new": map[string]any{"sampleRedrawFlag": 3.0}}}
	if diff := cmp.Diff(entries, b.log(activitylog.RerunRequested)); diff != "" {
		t.Fatal(diff)
	}
	if b.flag() != rerun.Requested || !b.cached() {
		t.Fatalf("flag %d, cached %v", b.flag(), b.cached())
	}
}

func TestTheRulesOfASecondRequest(t *testing.T) {
	t.Parallel()
	t.Run("while one is open", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.must(manual(0, 1))
		b.refused(manual(2, 3), apperr.Conflict, "RERUN_ALREADY_REQUESTED")
		b.refused(automatic(3), apperr.Conflict, "RERUN_ALREADY_REQUESTED")
		if len(b.stored()) != 1 || len(b.log(activitylog.RerunFailed)) != 0 {
			t.Fatal("a refused request left something behind")
		}
	})
	t.Run("after it was fulfilled, with a greater number", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.must(manual(4, 1))
		b.setFlag(rerun.Fulfilled)
		b.refused(manual(4, 3), apperr.Conflict, "RERUN_NUMBER_IN_USE")
		b.refused(manual(3, 3), apperr.Conflict, "RERUN_NUMBER_IN_USE")
		if r := b.must(manual(0, 3)); r.Number != 5 || b.flag() != rerun.Requested {
			t.Fatalf("number %d, flag %d", r.Number, b.flag())
		}
		if s := b.stored(); len(s) != 2 || s[0].Active || !s[1].Active {
			t.Fatalf("%+v", s)
		}
	})
	t.Run("automatic, once for a rerun", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		if r := b.must(automatic(1)); r.CreatedBy != -1 {
			t.Fatalf("acting user %d", r.CreatedBy)
		}
		b.setFlag(rerun.Fulfilled)
		b.refused(automatic(1), apperr.Conflict, "AUTO_RERUN_EXISTS")
		b.must(manual(0, 1))
		b.setFlag(rerun.Fulfilled)
		b.refused(automatic(1), apperr.Conflict, "AUTO_RERUN_EXISTS")
	})
	t.Run("automatic, after an instrument repeated on its own", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		if err := b.store.Insert(t.Context(), storetest.Record("analyser", storetest.Report, rerun.ByAnalyser, 1,
			false)); err != nil {
			t.Fatal(err)
		}
		b.setFlag(rerun.Fulfilled)
		if r := b.must(automatic(1)); r.Number != 2 || b.flag() != rerun.Requested {
			t.Fatalf("number %d, flag %d: the documented number 1 is a floor", r.Number, b.flag())
		}
	})
	t.Run("beside the older redraw of samples", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.setFlag(2)
		b.refused(manual(0, 1), apperr.Conflict, "SAMPLE_REDRAW_OPEN")
	})
}

func TestParametersMustBelongToTheReport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, indices := range map[string][]int{"unknown": {1, 99}, "disabled": {5}, "another laboratory's": {9}} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.refused(manual(0, indices...), apperr.Invalid, "INVALID_ARGUMENT")
		})
	}
	noProfile := manual(0, 8) // a child's parameter, on a report that is no profile
	noProfile.ReportID = storetest.OtherReport
	b.t = t
	b.refused(noProfile, apperr.Invalid, "INVALID_ARGUMENT")
}

func TestReportsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []int64{storetest.ForeignReport, 99} {
		c := manual(0, 1)
		c.ReportID = id
		b.refused(c, apperr.NotFound, "REPORT_NOT_FOUND")
	}
}

func TestOfTwoRacingRequestsExactlyOneIsSaved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const racers = 6
	errs := make([]error, racers)
	var wait sync.WaitGroup
	for i := range racers {
		wait.Go(func() {
			_, errs[i] = b.request(manual(0, 1))
		})
	}
	wait.Wait()
	saved := 0
	for _, err := range errs {
		if err == nil {
			saved++
		} else if apperr.KindOf(err) != apperr.Conflict {
			t.Errorf("error = %v", err)
		}
	}
	if saved != 1 || len(b.stored()) != 1 || len(b.log(activitylog.RerunRequested)) != 1 {
		t.Fatalf("%d saved, %d stored, %d logged", saved, len(b.stored()), len(b.log(activitylog.RerunRequested)))
	}
}
