package reconcile_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

// world is a fake with one patient in laboratory 7, whose row and document change from read to read.
type world struct {
	turn      int64   // position of the cursor
	revs      []int64 // revisions of the row, in the scan and in each further read
	documents []int64 // revisions of the document in the same order; 0: none
	look      int
	targets   []materialize.Target
	deleted   []document.Op
	labs      []int64
	compared  []int64
	held      []int64
	err       error
}

func at(revs []int64, look int) int64 { return revs[min(look, len(revs)-1)] }

func (w *world) row() projection.Row {
	return projection.Row{UserID: 1, LabID: 7, Rev: at(w.revs, w.look)}
}

func (w *world) Rows(_ context.Context, s authn.LabScope, after int64, _ int) ([]projection.Row, error) {
	if after >= 1 || s.LabID() != 7 || w.row().Rev == 0 {
		return nil, w.err
	}
	return []projection.Row{w.row()}, w.err
}

func (w *world) RowsByID(context.Context, []int64) ([]projection.Row, error) {
	w.look++ // the row is read before the document
	if w.row().Rev == 0 {
		return nil, nil
	}
	return []projection.Row{w.row()}, nil
}

func (w *world) SourceUserIDs(context.Context, authn.LabScope, int64, int) ([]int64, error) {
	return nil, nil
}
func (w *world) Differences(context.Context, []int64) ([]int64, error) { return nil, nil }
func (w *world) Refresh(context.Context, string) error                 { return nil }
func (w *world) Target(_ context.Context, name string) (indexsync.Target, error) {
	return indexsync.Target{Alias: name, Schema: document.Schema}, nil
}

func (w *world) entry() (document.Entry, bool) {
	row := w.row()
	row.Rev = at(w.documents, w.look)
	return document.Entry{UserID: 1, Route: 7, LabID: 7, Version: 2*row.Rev + 1, Source: document.NewEncoder().Document(&row)}, row.Rev != 0
}

func (w *world) Scan(context.Context, string, int64) iter.Seq2[document.Entry, error] {
	return func(yield func(document.Entry, error) bool) {
		if e, ok := w.entry(); ok {
			yield(e, nil)
		}
	}
}

func (w *world) Find(context.Context, string, []document.Entry) ([]document.Entry, error) {
	e, ok := w.entry()
	if !ok {
		return nil, nil
	}
	return []document.Entry{e}, nil
}

func (w *world) Laboratories(context.Context) ([]authn.LabScope, error) {
	var scopes []authn.LabScope
	for _, id := range w.labs {
		s, err := mysql.Laboratory(id)
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, s)
	}
	return scopes, nil
}

func (w *world) Recompute(_ context.Context, targets []materialize.Target) (materialize.Summary, error) {
	w.targets = append(w.targets, targets...)
	return materialize.Summary{}, w.err
}

func (w *world) Write(_ context.Context, _ string, ops []document.Op) ([]indexsync.Fate, error) {
	w.deleted = append(w.deleted, ops...)
	return make([]indexsync.Fate, len(ops)), nil
}

func (w *world) Compared(r reconcile.Result, _ int) { w.compared = append(w.compared, r.LabID) }

func (w *world) Held(r reconcile.Result) { w.held = append(w.held, r.LabID) }

func always(context.Context) (bool, error) { return true, nil }

func (w *world) Turn(context.Context) (int64, error) { return w.turn, nil }

func (w *world) SetTurn(_ context.Context, lab int64) error {
	w.turn = lab
	return nil
}

// fromIndex is a world whose ambiguous method is that of the index.
type fromIndex struct{ *world }

func (fromIndex) Laboratories(context.Context, string) ([]int64, error) { return []int64{9}, nil }

func (w *world) reconciler() *reconcile.Reconciler {
	return reconcile.New(reconcile.Deps{Rows: w, Scope: mysql.Laboratory, Documents: fromIndex{w}, Users: w, Writer: w, Target: "user_details",
		Config: reconcile.Config{Settle: 3 * time.Second, Looks: 4}})
}

func TestADifferenceIsBelievedWhenItIsTheSameTwice(t *testing.T) {
	t.Parallel()
	type result struct {
		Differences []reconcile.Difference
		Unsettled   int
		Took        time.Duration
	}
	stale := func(row, doc int64) []reconcile.Difference {
		return []reconcile.Difference{{Kind: reconcile.Stale, LabID: 7, UserID: 1, Route: 7, Version: 2*doc + 1, Rev: row}}
	}
	for name, c := range map[string]struct {
		revs, documents []int64
		want            result
	}{
		"nothing is wrong":             {[]int64{5}, []int64{5}, result{}},
		"a change arrives":             {[]int64{5}, []int64{4, 5}, result{Took: 3 * time.Second}},
		"a difference stays":           {[]int64{5}, []int64{4}, result{Differences: stale(5, 4), Took: 3 * time.Second}},
		"it changes and then stays":    {[]int64{5, 6}, []int64{4, 5}, result{Differences: stale(6, 5), Took: 6 * time.Second}},
		"it changes and then arrives":  {[]int64{5, 6, 7}, []int64{4, 5, 7}, result{Took: 6 * time.Second}},
		"it never rests":               {[]int64{5, 6, 7, 8, 9}, []int64{4, 5, 6, 7, 8}, result{Unsettled: 1, Took: 12 * time.Second}},
		"the document is missing":      {[]int64{5}, []int64{0}, result{Differences: []reconcile.Difference{{Kind: reconcile.Missing, LabID: 7, UserID: 1, Rev: 5}}, Took: 3 * time.Second}},
		"the row is missing":           {[]int64{0}, []int64{5}, result{Differences: []reconcile.Difference{{Kind: reconcile.Orphan, LabID: 7, UserID: 1, Route: 7, Version: 11}}, Took: 3 * time.Second}},
		"the row is only just missing": {[]int64{5, 0}, []int64{5}, result{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &world{revs: c.revs, documents: c.documents}
				begin := time.Now()
				got, err := w.reconciler().Compare(t.Context(), scope(t, 7), func(reconcile.Count) {})
				if diff := cmp.Diff(c.want, result{got.Differences, got.Unsettled, time.Since(begin)}); err != nil || diff != "" {
					t.Errorf("error %v: %s", err, diff)
				}
			})
		})
	}
}

func TestARepairGoesAboveWhatTheIndexHolds(t *testing.T) {
	t.Parallel()
	w := &world{revs: []int64{5}, documents: []int64{5}}
	refused, err := w.reconciler().Repair(t.Context(), []reconcile.Difference{
		{Kind: reconcile.WrongRoute, LabID: 7, UserID: 1, Route: 8, Version: 41, Rev: 5},
		{Kind: reconcile.Stale, LabID: 7, UserID: 1, Route: 7, Version: 31, Rev: 5},
		{Kind: reconcile.Projection, LabID: 7, UserID: 2},
		{Kind: reconcile.Orphan, LabID: 7, UserID: 3, Route: 7, Version: 21},
	})
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	got := map[int64]materialize.Target{}
	for _, target := range w.targets {
		got[target.UserID] = target
	}
	want := map[int64]materialize.Target{1: {UserID: 1, Force: true, IndexVersion: 42}, 2: {UserID: 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]document.Op{{ID: 1, Route: 8, Version: 42}, {ID: 3, Route: 7, Version: 22}}, w.deleted); diff != "" {
		t.Error(diff)
	}
}

func TestTheLoopTakesEachLaboratoryInTurn(t *testing.T) {
	t.Parallel()
	w := &world{revs: []int64{5}, documents: []int64{5}, labs: []int64{7, 3, 12}}
	loop := func() *reconcile.Loop { // each turn runs in another process; the cursor is stored
		return &reconcile.Loop{Reconciler: w.reconciler(), Observer: w, Cursor: w, Indexed: always, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)}
	}
	for range 5 {
		if err := loop().RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.err = errors.New("the database is unavailable")
	if err := loop().RunOnce(t.Context()); err == nil {
		t.Error("no error")
	}
	w.err = nil
	if err := loop().RunOnce(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]int64{3, 7, 9, 12, 3, 9}, w.compared); diff != "" { // only the index has 9; 7 failed
		t.Error(diff)
	}
}

// TestALaboratoryThatIsNewIsComparedWithinMinutes checks that a new laboratory does not have to wait for its turn,
// which may take hours.
func TestALaboratoryThatIsNewIsComparedWithinMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{revs: []int64{5}, documents: []int64{5}, labs: []int64{3, 7, 12}}
		loop := &reconcile.Loop{Reconciler: w.reconciler(), Observer: w, Cursor: w, Indexed: always, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)}
		minutes := func(n int) {
			for range n {
				if err := loop.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute)
			}
		}
		minutes(2)
		w.labs = append(w.labs, 1, 500)
		minutes(5)
		if got, want := w.compared, []int64{3, 7, 9, 1, 500, 12, 500}; !slices.Equal(got, want) {
			t.Errorf("compared %v, want %v: the new ones as soon as they are known, then everyone in turn", got, want)
		}
	})
}

// TestANewLaboratoryWhoseComparisonFailsIsComparedAgainWithinMinutes: the first comparison of a new laboratory meets an
// engine that does not respond for a moment. The laboratory must not wait for its turn, and the others must not wait for
// it.
func TestANewLaboratoryWhoseComparisonFailsIsComparedAgainWithinMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{revs: []int64{5}, documents: []int64{5}, labs: []int64{3, 7, 12, 20, 30, 40}}
		loop := &reconcile.Loop{Reconciler: w.reconciler(), Observer: w, Cursor: w, Indexed: always, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)}
		for minute := range 8 {
			switch minute {
			case 1:
				w.labs = append(w.labs, 500)
			case 3: // the new laboratory is known now
				w.err = errors.New("the engine does not respond")
			}
			if err := loop.RunOnce(t.Context()); (err != nil) != (minute == 3) {
				t.Fatalf("minute %d: %v", minute, err)
			}
			w.err = nil
			<-time.After(time.Minute)
		}
		if want := []int64{3, 7, 9, 12, 20, 500, 30}; !slices.Equal(w.compared, want) {
			t.Errorf("compared %v, want %v", w.compared, want)
		}
	})
}

// slowly is a clock that advances by a second with each read.
type slowly struct{ now time.Time }

func (s *slowly) Now() time.Time { s.now = s.now.Add(time.Second); return s.now }

func TestTheLoopGoesOnToTheNextLaboratoryWhileItsTimeLasts(t *testing.T) {
	t.Parallel()
	for share, want := range map[time.Duration][]int64{
		time.Second: {3}, 3 * time.Second: {3, 7, 9}, time.Hour: {3, 7, 9, 12}, // each once, even if time is left
	} {
		w := &world{revs: []int64{5}, documents: []int64{5}, labs: []int64{7, 3, 12}}
		loop := &reconcile.Loop{Reconciler: w.reconciler(), Observer: w, Cursor: w, Indexed: always, Clock: &slowly{}, Share: share,
			Log: slog.New(slog.DiscardHandler)}
		if err := loop.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, w.compared); diff != "" {
			t.Errorf("%v: got %s, want none", share, diff)
		}
	}
}

// TestComparingTakesNothingOfTheTimeToWait compares a laboratory for longer than the waiting time. The whole waiting
// time must still be available for the repair.
func TestComparingTakesNothingOfTheTimeToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{revs: []int64{5}, documents: []int64{4, 4, 4, 5}, labs: []int64{7}} // repaired in the third read
		var out strings.Builder
		total, err := w.reconciler().Report(t.Context(), reconcile.Options{LabID: 7, Repair: true, Wait: 2 * time.Second}, &out, clock.System{})
		if err != nil || total.Differences != 0 || total.Repaired != 1 {
			t.Errorf("%+v, error %v\n%s", total, err, &out)
		}
	})
}

func TestAWaitIsOverForAllLaboratoriesTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{revs: []int64{5}, documents: []int64{4}, labs: []int64{7, 7, 7}} // the repair is never visible
		begin := time.Now()
		total, err := w.reconciler().Report(t.Context(), reconcile.Options{Wait: 5 * time.Second}, io.Discard, clock.System{})
		if took := time.Since(begin); err != nil || total.Differences != 3 || took != 3*3*time.Second+5*time.Second {
			t.Errorf("%+v after %s, error %v", total, took, err)
		}
	})
}
