package materialize_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// store is a fake database in which some rows are not visible yet and some are rejected.
type store struct {
	visible map[int64]time.Time // when a row becomes visible; absent: immediately
	poison  map[int64]bool
	fails   int // number of attempts that fail, as with an unavailable database
	calls   [][]int64
}

func (s *store) Recompute(_ context.Context, targets []materialize.Target) (materialize.Summary, error) {
	var ids []int64
	for _, t := range targets {
		ids = append(ids, t.UserID)
	}
	s.calls = append(s.calls, ids)
	if s.fails > 0 {
		s.fails--
		return materialize.Summary{}, outcome.Retry(errors.New("database away"))
	}
	var summary materialize.Summary
	for _, t := range targets {
		if s.poison[t.UserID] {
			return materialize.Summary{}, &materialize.Poison{Reason: "too_long", Err: errors.New("column x")}
		}
		if time.Now().Before(s.visible[t.UserID]) {
			summary.Early = append(summary.Early, t)
			summary.Equal++
			continue
		}
		summary.Written++
	}
	return summary, nil
}

type counts struct{ written, equal, early, late int }

func (c *counts) Recomputed(written, equal, _ int) { c.written += written; c.equal += equal }
func (c *counts) Early(n int)                      { c.early += n }
func (c *counts) Late(n int)                       { c.late += n }

type late struct{ ids []int64 }

func (l *late) Add(ids []int64) { l.ids = append(l.ids, ids...) }

func recomputer(s *store, config materialize.Config) (*materialize.Recomputer, *counts, *late) {
	c, l := &counts{}, &late{}
	return materialize.NewRecomputer(materialize.Deps{Store: s, Late: l, Observer: c, Config: config}), c, l
}

func named(ids ...int64) []materialize.Target {
	var list []materialize.Target
	for _, id := range ids {
		list = append(list, materialize.Target{UserID: id})
	}
	return list
}

func TestPatientsAreComputedOnceInTheOrderOfTheirIds(t *testing.T) {
	t.Parallel()
	s := &store{}
	r, c, _ := recomputer(s, materialize.Config{MaxTargets: 2})
	if _, err := r.Recompute(t.Context(), named(5, 3, 5, 1, 3)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int64{{1, 3}, {5}}, s.calls); diff != "" || c.written != 3 {
		t.Fatalf("%s, %+v", diff, c)
	}
}

func TestAnEarlyEventIsComputedAgainUntilItsRowIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &store{visible: map[int64]time.Time{2: begin.Add(100 * time.Millisecond)}}
		r, c, l := recomputer(s, materialize.DefaultConfig())
		if _, err := r.Recompute(t.Context(), named(1, 2, 3)); err != nil {
			t.Fatal(err)
		}
		// At 0, then after 20, 40 and 80 ms only for the early patient.
		if diff := cmp.Diff([][]int64{{1, 2, 3}, {2}, {2}, {2}}, s.calls); diff != "" {
			t.Fatal(diff)
		}
		if took := time.Since(begin); took != 140*time.Millisecond || *c != (counts{written: 3, equal: 1, early: 1}) || l.ids != nil {
			t.Fatalf("took %v, %+v, late %v", took, c, l.ids)
		}
	})
}

func TestAnEventThatStaysEarlyIsHandedOverInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		far := begin.Add(time.Hour)
		s := &store{visible: map[int64]time.Time{2: far, 4: far}}
		r, c, l := recomputer(s, materialize.DefaultConfig())
		summary, err := r.Recompute(t.Context(), named(1, 2, 3, 4))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 300*time.Millisecond {
			t.Errorf("the partition waited %v", took)
		}
		if !slices.Equal(l.ids, []int64{2, 4}) || len(summary.Early) != 2 || c.late != 2 {
			t.Errorf("late %v, early %v", l.ids, summary.Early)
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{visible: map[int64]time.Time{1: time.Now().Add(time.Hour)}}
		r, _, l := recomputer(s, materialize.DefaultConfig())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := r.Recompute(ctx, named(1)); !errors.Is(err, context.DeadlineExceeded) || l.ids != nil {
			t.Fatalf("%v, late %v", err, l.ids)
		}
	})
}

func TestARefusedRowDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	s := &store{poison: map[int64]bool{3: true, 7: true}}
	r, c, _ := recomputer(s, materialize.DefaultConfig())
	summary, err := r.Recompute(t.Context(), named(1, 2, 3, 4, 5, 6, 7, 8))
	if err != nil || c.written != 6 || len(summary.Poison) != 2 || summary.Poison[3] == nil || summary.Poison[7] == nil {
		t.Fatalf("%+v, %+v, %v", summary, c, err)
	}
}

func TestAFaultPassesThrough(t *testing.T) {
	t.Parallel()
	s := &store{fails: 1}
	r, c, _ := recomputer(s, materialize.DefaultConfig())
	_, err := r.Recompute(t.Context(), named(1, 2))
	var fault *outcome.Fault
	if !errors.As(err, &fault) || fault.Operator || len(s.calls) != 1 || c.written != 0 {
		t.Fatalf("%v, %v", err, s.calls)
	}
	if _, err := r.Recompute(t.Context(), named(1, 2)); err != nil || c.written != 2 {
		t.Fatalf("got %v, %+v, want 2", err, c)
	}
}

func TestWhatManyEventsShowedOfOneRowIsItsLastSight(t *testing.T) {
	t.Parallel()
	var got []materialize.Target
	r := materialize.NewRecomputer(materialize.Deps{Observer: &counts{}, Config: materialize.DefaultConfig(), Store: spy(func(targets []materialize.Target) { got = targets })})
	seen := func(row int64, gone bool) []materialize.Seen {
		return []materialize.Seen{{Table: "billing", RowID: row, Gone: gone}}
	}
	_, err := r.Recompute(t.Context(), []materialize.Target{
		{UserID: 1, Seen: seen(5, false), SourceTime: 3}, {UserID: 1, Seen: seen(6, false), SourceTime: 9, Force: true}, {UserID: 1, Seen: seen(5, true), IndexVersion: 4},
	})
	want := []materialize.Target{{UserID: 1, Seen: append(seen(5, true), seen(6, false)...), SourceTime: 9, Force: true, IndexVersion: 4}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
}

type spy func([]materialize.Target)

func (s spy) Recompute(_ context.Context, targets []materialize.Target) (materialize.Summary, error) {
	s(targets)
	return materialize.Summary{}, nil
}
