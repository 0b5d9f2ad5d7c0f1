// Package storetest is the suite that every store of the cell counter passes.
package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// What every store of the suite holds: test 55 is laboratory 12's with parameters 1 to 5, of which Disabled is off;
// test
// 56 is every laboratory's with parameter 1. Cell Retired is disabled. Report 7001 is laboratory 12's.
const (
	OwnTest    = 55
	SharedTest = 56
	Retired    = 3
	Report     = 7001
	Doctor     = 301 // of the report's bill
)

var asha = authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}

// Store is what the suite tests.
type Store struct {
	configure.Store

	Observe observe.Store
}

// Lab returns a laboratory's mappings.
func Lab(t testing.TB, id int64) mapping.Owner {
	t.Helper()
	return mapping.Of(scope(t, id))
}

func scope(t testing.TB, id int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Session, LabID: id}.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Row is a mapping of the suite: key, parameter n and cell.
func Row(key string, n int, cell int64) mapping.Row {
	return mapping.Row{Mapping: mapping.Mapping{Key: mapping.StoredKey(key), CellID: cell,
		Parameter: mapping.Parameter{Index: n, Order: n}, IncludeInTotal: true}}
}

// Run tests the stores that open makes, a fresh one for each test.
func Run(t *testing.T, open func(*testing.T) Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Store){
		"a laboratory's mappings hide the defaults": ownHideDefaults,
		"tests of others are unknown":               othersTests,
		"keys are exchanged in one write":           exchange,
		"an error changes nothing":                  rollback,
		"taken keys and parameters are conflicts":   conflicts,
		"writers of a scope follow each other":      race,
		"formats and cells":                         references,
		"counts of observers":                       counts,
		"a laboratory goes back to the defaults":    backToDefaults,
		"keys compare exactly":                      exactKeys,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// apply writes a plan made of rows, as a use case would.
func apply(t *testing.T, s Store, owner mapping.Owner, test int64, remove, write []mapping.Row) error {
	t.Helper()
	return s.Lock(t.Context(), test, owner, func(l configure.Locked) error {
		return l.Apply(t.Context(), mapping.Plan{Remove: remove, Write: write}, asha)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// view reads a scope without the ids.
func view(t *testing.T, s Store, test int64, owner mapping.Owner) configure.View {
	t.Helper()
	v, err := s.Read(t.Context(), test, owner)
	must(t, err)
	for i := range v.Rows {
		v.Rows[i].ID = 0
	}
	return v
}

func expect(t *testing.T, got configure.View, own bool, target int, rows ...mapping.Row) {
	t.Helper()
	want := configure.View{Rows: rows, OwnLab: own, Target: target}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping.Key{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

func ownHideDefaults(t *testing.T, s Store) {
	lab, other := Lab(t, 12), Lab(t, 13)
	expect(t, view(t, s, SharedTest, lab), false, mapping.DefaultTarget)
	must(t, apply(t, s, mapping.Defaults(), SharedTest, nil, []mapping.Row{Row("a", 1, 1)}))
	must(
		t,
		s.Lock(
			t.Context(),
			SharedTest,
			mapping.Defaults(),
			func(l configure.Locked) error { return l.SetTarget(t.Context(), 200) },
		),
	)
	expect(t, view(t, s, SharedTest, lab), false, 200, Row("a", 1, 1))
	must(t, apply(t, s, lab, SharedTest, nil, []mapping.Row{Row("b", 1, 2)}))
	expect(t, view(t, s, SharedTest, lab), true, 200, Row("b", 1, 2))
	expect(t, view(t, s, SharedTest, other), false, 200, Row("a", 1, 1))
	expect(t, view(t, s, SharedTest, mapping.Defaults()), false, 200, Row("a", 1, 1))
}

func othersTests(t *testing.T, s Store) {
	if _, err := s.Read(t.Context(), OwnTest, Lab(t, 13)); !errors.Is(err, mapping.ErrNoTest) {
		t.Errorf("another laboratory reads: %v", err)
	}
	if _, err := s.Read(t.Context(), 999, Lab(t, 12)); !errors.Is(err, mapping.ErrNoTest) {
		t.Errorf("a test that is not there: %v", err)
	}
	if err := apply(t, s, Lab(t, 13), OwnTest, nil, []mapping.Row{Row("a", 1, 1)}); !errors.Is(err, mapping.ErrNoTest) {
		t.Errorf("another laboratory writes: %v", err)
	}
}

func exchange(t *testing.T, s Store) {
	lab := Lab(t, 12)
	must(t, apply(t, s, lab, OwnTest, nil, []mapping.Row{Row("a", 1, 1), Row("b", 2, 2)}))
	v, err := s.Read(t.Context(), OwnTest, lab)
	must(t, err)
	a, b := v.Rows[0], v.Rows[1]
	remove := []mapping.Row{a, b}
	a.Key, b.Key = b.Key, a.Key
	must(t, apply(t, s, lab, OwnTest, remove, []mapping.Row{a, b}))
	expect(t, view(t, s, OwnTest, lab), true, mapping.DefaultTarget, Row("b", 1, 1), Row("a", 2, 2))
	again, err := s.Read(t.Context(), OwnTest, lab)
	must(t, err)
	if again.Rows[0].ID != a.ID {
		t.Errorf("a rewritten row has id %d, before it was %d", again.Rows[0].ID, a.ID)
	}
}

func rollback(t *testing.T, s Store) {
	lab, broken := Lab(t, 12), errors.New("broken")
	err := s.Lock(t.Context(), OwnTest, lab, func(l configure.Locked) error {
		must(t, l.Apply(t.Context(), mapping.Plan{Write: []mapping.Row{Row("a", 1, 1)}}, asha))
		must(t, l.SetTarget(t.Context(), 300))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	expect(t, view(t, s, OwnTest, lab), false, mapping.DefaultTarget)
}

func conflicts(t *testing.T, s Store) {
	lab := Lab(t, 12)
	must(t, apply(t, s, lab, OwnTest, nil, []mapping.Row{Row("a", 1, 1)}))
	for name, row := range map[string]mapping.Row{"KEY_TAKEN": Row("A", 2, 1), "PARAMETER_TAKEN": Row("b", 1, 1)} {
		err := apply(t, s, lab, OwnTest, nil, []mapping.Row{row})
		if e, ok := apperr.From(err); !ok || e.Kind != apperr.Conflict || e.Reason != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect(t, view(t, s, OwnTest, lab), true, mapping.DefaultTarget, Row("a", 1, 1))
}

// race lets many writers each add one row after a look at all: every look sees what the writers before did.
func race(t *testing.T, s Store) {
	const writers = 5
	lab, ctx := Lab(t, 12), t.Context()
	var all sync.WaitGroup
	errs := make(chan error, writers)
	for range writers {
		all.Go(func() {
			errs <- s.Lock(ctx, OwnTest, lab, func(l configure.Locked) error {
				rows, err := l.Rows(ctx)
				if err != nil {
					return err
				}
				n := len(rows) + 1
				return l.Apply(ctx, mapping.Plan{Write: []mapping.Row{Row(fmt.Sprint(n), n, 1)}}, asha)
			})
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		must(t, err)
	}
	if rows := view(t, s, OwnTest, lab).Rows; len(rows) != writers {
		t.Fatalf("%d rows of %d writers", len(rows), writers)
	}
}

func references(t *testing.T, s Store) {
	must(t, s.Lock(t.Context(), OwnTest, Lab(t, 12), func(l configure.Locked) error {
		formats, err := l.Formats(t.Context())
		must(t, err)
		if len(formats) != 5 {
			t.Errorf("formats %v: a disabled one does not count", formats)
		}
		cells, err := l.Cells(t.Context(), []int64{1, Retired, 999})
		must(t, err)
		if len(cells) != 2 || !cells[Retired].Disabled || cells[1].Name == "" {
			t.Errorf("cells %+v", cells)
		}
		return nil
	}))
	cells, err := s.Cells(t.Context())
	must(t, err)
	if len(cells) < 3 || cells[0].ID != 1 || cells[0].Background == "" {
		t.Errorf("cells %+v", cells)
	}
}

// put stores a count under the lock.
func put(t *testing.T, s Store, a observe.Access, c observe.Count) error {
	t.Helper()
	return s.Observe.Lock(t.Context(), a, Report, func(l observe.Locked) error { return l.Put(t.Context(), OwnTest, c) })
}

func counts(t *testing.T, s Store) {
	ctx, lab := t.Context(), observe.Access{Lab: scope(t, 12)}
	first := observe.Count{
		Observer:  2,
		Tallies:   []counting.Tally{{CellID: 1, Count: 60, InTotal: true}},
		CountedBy: authn.Actor{Kind: authn.ActorDoctor, ID: 77, Name: strings.Repeat("é", 255)},
		CountedAt: 5,
	}
	must(t, put(t, s, lab, first))
	second := first
	second.Tallies = []counting.Tally{{CellID: 1, Count: 61, InTotal: true}, {CellID: 2, Count: 3}}
	must(t, s.Observe.Lock(ctx, lab, Report, func(l observe.Locked) error {
		if want := (observe.Report{ID: Report, BillID: 1, TestID: OwnTest}); l.Report() != want {
			t.Errorf("report %+v", l.Report())
		}
		known, err := l.KnownCells(ctx, []int64{1, 999})
		if err != nil || len(known) != 1 || !known[1] {
			t.Errorf("known cells %v %v", known, err)
		}
		present, err := l.Counts(ctx, OwnTest)
		if diff := cmp.Diff([]observe.Count{first}, present); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		must(t, l.Log(ctx, activitylog.Entry{Category: activitylog.CellCountReplaced, Actor: asha, At: time.Unix(5, 0)}))
		return l.Put(ctx, OwnTest, second)
	}))
	broken := errors.New("broken")
	err := s.Observe.Lock(ctx, lab, Report, func(l observe.Locked) error {
		must(t, l.Put(ctx, OwnTest, first))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	got, err := s.Observe.Counts(ctx, lab, Report, OwnTest)
	must(t, err)
	if diff := cmp.Diff([]observe.Count{second}, got); diff != "" {
		t.Error(diff)
	}
	must(t, put(t, s, observe.Access{Lab: lab.Lab, OwnBills: true, DoctorID: Doctor}, second))
	for name, other := range map[string]observe.Access{
		"another laboratory":  {Lab: scope(t, 13)},
		"another doctor":      {Lab: lab.Lab, OwnBills: true, DoctorID: Doctor + 1},
		"a doctor without id": {Lab: lab.Lab, OwnBills: true},
	} {
		if err := put(t, s, other, first); !errors.Is(err, observe.ErrNoReport) {
			t.Errorf("%s saves: %v", name, err)
		}
		if _, err := s.Observe.Counts(ctx, other, Report, OwnTest); !errors.Is(err, observe.ErrNoReport) {
			t.Errorf("%s reads: %v", name, err)
		}
	}
}

func backToDefaults(t *testing.T, s Store) {
	lab := Lab(t, 12)
	must(t, apply(t, s, mapping.Defaults(), SharedTest, nil, []mapping.Row{Row("a", 1, 1)}))
	must(t, apply(t, s, lab, SharedTest, nil, []mapping.Row{Row("b", 1, 2)}))
	lock := func(work func(configure.Locked) error) { must(t, s.Lock(t.Context(), SharedTest, lab, work)) }
	lock(func(l configure.Locked) error { return l.SetTarget(t.Context(), 300) })
	lock(func(l configure.Locked) error {
		rows, err := l.Rows(t.Context())
		must(t, err)
		return l.Delete(t.Context(), []int64{rows[0].ID})
	})
	expect(t, view(t, s, SharedTest, lab), false, 300, Row("a", 1, 1)) // a target of its own, and the default keys
	lock(func(l configure.Locked) error { return l.Forget(t.Context()) })
	expect(t, view(t, s, SharedTest, lab), false, mapping.DefaultTarget, Row("a", 1, 1))
	must(t, s.Lock(t.Context(), SharedTest, mapping.Defaults(), func(l configure.Locked) error {
		rows, err := l.Rows(t.Context())
		must(t, err)
		must(t, l.Delete(t.Context(), nil))
		return l.Delete(t.Context(), []int64{rows[0].ID})
	}))
	expect(t, view(t, s, SharedTest, lab), false, mapping.DefaultTarget)
}

func exactKeys(t *testing.T, s Store) {
	lab := Lab(t, 12)
	must(t, apply(t, s, lab, OwnTest, nil, []mapping.Row{Row("o", 1, 1), Row("ö", 2, 1), Row("é", 3, 1), Row("e", 4, 1)}))
	err := apply(t, s, lab, OwnTest, nil, []mapping.Row{Row("Ö", 5, 1)})
	if e, ok := apperr.From(err); !ok || e.Reason != "KEY_TAKEN" {
		t.Errorf("Caps Lock made another key: %v", err)
	}
}
