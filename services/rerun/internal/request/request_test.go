package request_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/aftercommit"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

var now = storetest.Now

// fixture is the use case over real stores. A test may replace reports, documents or the cache to make a step fail.
type fixture struct {
	*storetest.Fixture

	reports   request.Reports
	documents storetest.Documents
	openSet   aftercommit.OpenSet
	index     index
	ids       atomic.Int64
}

// index returns err, which never fails a request.
type index struct{ err error }

func (i index) SyncUser(context.Context, authn.LabScope, int64) error { return i.err }

func setup(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Fixture: storetest.New(t)}
	f.reports, f.documents, f.openSet = f.Reports, f.Documents, f.OpenSet
	return f
}

func (f *fixture) request(c request.Command) (rerun.Record, error) {
	f.T.Helper()
	after := aftercommit.New(aftercommit.Deps{
		Queue: f.AtOnce(), Flags: f.Reports, OpenSet: f.openSet, Index: f.index, Documents: f.documents,
	})
	u := request.New(request.Deps{
		Reports: f.reports, Documents: f.documents, AfterCommit: after, Clock: f.Clock,
		NewID: func() string { return fmt.Sprintf("id-%d", f.ids.Add(1)) },
		Log:   slog.New(slog.DiscardHandler), Counters: f.Counts,
	})
	return u.Request(f.T.Context(), storetest.Scope(f.T, 12), c)
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

func (f *fixture) must(c request.Command) rerun.Record {
	f.T.Helper()
	r, err := f.request(c)
	if err != nil {
		f.T.Fatal(err)
	}
	return r
}

func (f *fixture) refused(c request.Command, kind apperr.Kind, reason string) {
	f.T.Helper()
	_, err := f.request(c)
	e, ok := apperr.From(err)
	if !ok || e.Kind != kind || e.Reason != reason {
		f.T.Fatalf("error = %v (%+v), want kind %d and %s", err, e, kind, reason)
	}
}

func (f *fixture) flag() rerun.Flag { return f.State(storetest.Report).Flag }

func (f *fixture) setFlag(flag rerun.Flag) { f.Set(storetest.Report, "sampleRedrawFlag", int(flag)) }

func (f *fixture) stored() []rerun.Record { return f.State(storetest.Report).Records }

// log returns the meta and the actor of the log entries of a category.
func (f *fixture) log(category activitylog.Category) []map[string]any {
	f.T.Helper()
	var entries []map[string]any
	for _, e := range f.Log(storetest.Report) {
		if e.Category != category {
			continue
		}
		entry := map[string]any{}
		if err := json.Unmarshal(e.Meta, &entry); err != nil {
			f.T.Fatal(err)
		}
		entry["user"], entry["name"], entry["bill"] = e.Actor.ID, e.Actor.Name, e.BillID
		entries = append(entries, entry)
	}
	return entries
}

func (f *fixture) cached() bool { return f.State(storetest.Report).Cached }

func TestARequestIsSavedFlaggedLoggedAndCached(t *testing.T) {
	t.Parallel()
	f := setup(t)
	saved := f.must(manual(0, 3, 1, 8))
	want := rerun.Record{ID: "12-id-1", LabID: 12, ReportID: 7001, Type: rerun.Manual, Number: 1,
		Requested:      []int{3, 1, 8},
		ParameterNames: []string{"White cells", "Haemoglobin", "ESR"}, Active: true, CreatedBy: 77, CreatedByKind: "lab_user", UpdatedBy: 77,
		CreatedAt: now, UpdatedAt: now}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]rerun.Record{want}, f.stored()); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	entries := []map[string]any{{"user": int64(77), "name": "Asha R", "bill": int64(401),
		"rerun_id": "12-id-1", "rerun_number": 1.0, "type": "Manual", "requested_parameters": []any{3.0, 1.0, 8.0},
		"old": map[string]any{"sampleRedrawFlag": 0.0}, "new": map[string]any{"sampleRedrawFlag": 3.0}}}
	if diff := cmp.Diff(entries, f.log(activitylog.RerunRequested)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if f.flag() != rerun.Requested || !f.cached() {
		t.Fatalf("flag %d, cached %v", f.flag(), f.cached())
	}
}

func TestTheRulesOfASecondRequest(t *testing.T) {
	t.Parallel()
	t.Run("while one is open", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		f.must(manual(0, 1))
		f.refused(manual(2, 3), apperr.Conflict, "RERUN_ALREADY_REQUESTED")
		f.refused(automatic(3), apperr.Conflict, "RERUN_ALREADY_REQUESTED")
		if len(f.stored()) != 1 || len(f.log(activitylog.RerunFailed)) != 0 {
			t.Fatal("a refused request left something behind")
		}
	})
	t.Run("after it was fulfilled, with a greater number", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		f.must(manual(4, 1))
		f.setFlag(rerun.Fulfilled)
		f.refused(manual(4, 3), apperr.Conflict, "RERUN_NUMBER_IN_USE")
		f.refused(manual(3, 3), apperr.Conflict, "RERUN_NUMBER_IN_USE")
		if r := f.must(manual(0, 3)); r.Number != 5 || f.flag() != rerun.Requested {
			t.Fatalf("number %d, flag %d", r.Number, f.flag())
		}
		if s := f.stored(); len(s) != 2 || s[0].Active || !s[1].Active {
			t.Fatalf("%+v", s)
		}
	})
	t.Run("automatic, once for a rerun", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		if r := f.must(automatic(1)); r.CreatedBy != -1 {
			t.Fatalf("acting user %d", r.CreatedBy)
		}
		f.setFlag(rerun.Fulfilled)
		f.refused(automatic(1), apperr.Conflict, "AUTO_RERUN_EXISTS")
		f.must(manual(0, 1))
		f.setFlag(rerun.Fulfilled)
		f.refused(automatic(1), apperr.Conflict, "AUTO_RERUN_EXISTS")
	})
	t.Run("automatic, after an instrument repeated on its own", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		f.Insert(storetest.Record("analyser", storetest.Report, rerun.ByAnalyser, 1, false))
		f.setFlag(rerun.Fulfilled)
		if r := f.must(automatic(1)); r.Number != 2 || f.flag() != rerun.Requested {
			t.Fatalf("number %d, flag %d: the documented number 1 is a floor", r.Number, f.flag())
		}
	})
	t.Run("beside the older redraw of samples", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		f.setFlag(2)
		f.refused(manual(0, 1), apperr.Conflict, "SAMPLE_REDRAW_OPEN")
	})
	t.Run("of a dismissed report", func(t *testing.T) {
		t.Parallel()
		f := setup(t)
		f.Set(storetest.Report, "dismissed", 1)
		f.refused(manual(0, 1), apperr.Conflict, "REPORT_DISMISSED")
	})
}

func TestParametersMustBelongToTheReport(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for name, indices := range map[string][]int{"unknown": {1, 99}, "disabled": {5}, "another laboratory's": {9}} {
		t.Run(name, func(t *testing.T) {
			f.refused(manual(0, indices...), apperr.Invalid, "INVALID_ARGUMENT")
		})
	}
	noProfile := manual(0, 8) // a parameter of the child, on a report without a profile
	noProfile.ReportID = storetest.OtherReport
	f.refused(noProfile, apperr.Invalid, "INVALID_ARGUMENT")
}

func TestReportsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, id := range []int64{storetest.ForeignReport, 99} {
		c := manual(0, 1)
		c.ReportID = id
		f.refused(c, apperr.NotFound, "REPORT_NOT_FOUND")
	}
}

func TestOfTwoRacingRequestsExactlyOneIsSaved(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const racers = 6
	errs := make([]error, racers)
	var wait sync.WaitGroup
	for i := range racers {
		wait.Go(func() {
			_, errs[i] = f.request(manual(0, 1))
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
	if saved != 1 || len(f.stored()) != 1 || len(f.log(activitylog.RerunRequested)) != 1 {
		t.Fatalf("%d saved, %d stored, %d logged", saved, len(f.stored()), len(f.log(activitylog.RerunRequested)))
	}
}
