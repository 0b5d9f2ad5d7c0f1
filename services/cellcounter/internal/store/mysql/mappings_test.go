package mysql_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

const ownTest, sharedTest = storetest.OwnTest, storetest.SharedTest

var (
	asha = authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}
	row  = storetest.Row
)

// fixture is a store with the two owners of most tests.
type fixture struct {
	*testing.T
	*mysql.Store

	lab, defaults mapping.Owner
}

func open(t *testing.T) fixture {
	t.Helper()
	return fixture{t, mysql.New(storetest.Open(t)), storetest.Lab(t, 12), mapping.Defaults()}
}

// change applies a decision without checking the facts.
func (f fixture) change(test int64, owner mapping.Owner, d configure.Decision) error {
	f.Helper()
	d.By = asha
	_, err := f.ChangeMappings(f.Context(), test, owner,
		func(configure.Facts) (configure.Decision, error) { return d, nil })
	return err
}

func (f fixture) mustChange(test int64, owner mapping.Owner, d configure.Decision) {
	f.Helper()
	if err := f.change(test, owner, d); err != nil {
		f.Fatal(err)
	}
}

func (f fixture) view(test int64, owner mapping.Owner) configure.View {
	f.Helper()
	v, err := f.Mappings(f.Context(), test, owner)
	if err != nil {
		f.Fatal(err)
	}
	return v
}

// expect compares the mappings in effect for a test with the wanted ones, without the ids of rows.
func (f fixture) expect(test int64, owner mapping.Owner, own bool, target int, rows ...mapping.Row) {
	f.Helper()
	got := f.view(test, owner)
	for i := range got.Rows {
		got.Rows[i].ID = 0
	}
	want := configure.View{Rows: rows, OwnLab: own, Target: target}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping.Key{}), cmpopts.EquateEmpty()); diff != "" {
		f.Fatalf("the mappings of test %d (-want +got): %s", test, diff)
	}
}

func write(rows ...mapping.Row) configure.Decision { return configure.Decision{Write: rows} }

func target(n int) configure.Decision { return configure.Decision{Target: &n} }

func TestALaboratorysMappingsHideTheDefaults(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.expect(sharedTest, f.lab, false, mapping.DefaultTarget)
	f.mustChange(sharedTest, f.defaults, write(row("a", 1, 1)))
	f.mustChange(sharedTest, f.defaults, target(200))
	f.expect(sharedTest, f.lab, false, 200, row("a", 1, 1))
	f.mustChange(sharedTest, f.lab, write(row("b", 1, 2)))
	f.expect(sharedTest, f.lab, true, 200, row("b", 1, 2))
	f.expect(sharedTest, storetest.Lab(t, 13), false, 200, row("a", 1, 1))
	f.expect(sharedTest, f.defaults, false, 200, row("a", 1, 1))
}

func TestTestsOfOtherLaboratoriesAreUnknown(t *testing.T) {
	t.Parallel()
	f := open(t)
	other := storetest.Lab(t, 13)
	if _, err := f.Mappings(t.Context(), ownTest, other); !errors.Is(err, mapping.ErrNoTest) {
		t.Errorf("another laboratory reads: %v, want ErrNoTest", err)
	}
	if _, err := f.Mappings(t.Context(), 999, f.lab); !errors.Is(err, mapping.ErrNoTest) {
		t.Errorf("an unknown test is read: %v, want ErrNoTest", err)
	}
	if err := f.change(ownTest, other, write(row("a", 1, 1))); !errors.Is(err, mapping.ErrNoTest) {
		t.Errorf("another laboratory writes: %v, want ErrNoTest", err)
	}
}

func TestKeysAreExchangedInOneWrite(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.mustChange(ownTest, f.lab, write(row("a", 1, 1), row("b", 2, 2)))
	rows := f.view(ownTest, f.lab).Rows
	a, b := rows[0], rows[1]
	a.Key, b.Key = b.Key, a.Key
	f.mustChange(ownTest, f.lab, write(a, b))
	f.expect(ownTest, f.lab, true, mapping.DefaultTarget, row("b", 1, 1), row("a", 2, 2))
	if got := f.view(ownTest, f.lab).Rows[0].ID; got != a.ID {
		t.Errorf("the rewritten row has id %d, want its own %d", got, a.ID)
	}
}

// A change that fails at any step must leave nothing, not even the locked row of settings.
func TestAnErrorChangesNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	broken := errors.New("broken")
	_, err := f.ChangeMappings(t.Context(), ownTest, f.lab,
		func(configure.Facts) (configure.Decision, error) { return write(row("a", 1, 1)), broken })
	if !errors.Is(err, broken) {
		t.Fatalf("the decision fails: %v, want its error", err)
	}
	f.expect(ownTest, f.lab, false, mapping.DefaultTarget)
	f.mustChange(ownTest, f.lab, write(row("a", 1, 1)))
	conflicting := write(row("b", 2, 1), row("c", 1, 1))
	conflicting.Delete, conflicting.Target = nil, new(int)
	if err := f.change(ownTest, f.lab, conflicting); !apperr.Is(err, apperr.Conflict) {
		t.Fatalf("the second row conflicts: %v, want a conflict", err)
	}
	f.expect(ownTest, f.lab, true, mapping.DefaultTarget, row("a", 1, 1))
}

func TestTakenKeysAndParametersAreConflicts(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.mustChange(ownTest, f.lab, write(row("a", 1, 1)))
	for want, r := range map[string]mapping.Row{"KEY_TAKEN": row("A", 2, 1), "PARAMETER_TAKEN": row("b", 1, 1)} {
		err := f.change(ownTest, f.lab, write(r))
		if e, ok := apperr.From(err); !ok || e.Kind != apperr.Conflict || e.Reason != want {
			t.Errorf("a second mapping of %s: %v, want the conflict %s", r.Key, err, want)
		}
	}
	f.expect(ownTest, f.lab, true, mapping.DefaultTarget, row("a", 1, 1))
}

// TestWritersOfAScopeFollowEachOther checks that no row is lost when concurrent writers each add a row after the last
// row in their facts.
func TestWritersOfAScopeFollowEachOther(t *testing.T) {
	t.Parallel()
	const writers = 5
	f := open(t)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			_, err := f.ChangeMappings(t.Context(), ownTest, f.lab, func(facts configure.Facts) (configure.Decision, error) {
				n := len(facts.Rows) + 1
				return write(row(fmt.Sprint(n), n, 1)), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if rows := f.view(ownTest, f.lab).Rows; len(rows) != writers {
		t.Fatalf("%d writers left %d rows, want %d", writers, len(rows), writers)
	}
}

func TestTheFactsOfAScope(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.mustChange(ownTest, f.defaults, write(row("d", 1, 1)))
	f.mustChange(ownTest, f.lab, write(row("a", 1, 1)))
	_, err := f.ChangeMappings(t.Context(), ownTest, f.lab, func(facts configure.Facts) (configure.Decision, error) {
		if len(facts.Rows) != 1 || facts.Rows[0].Key.String() != "a" || facts.Rows[0].ID == 0 {
			t.Errorf("rows %+v, want the laboratory's a", facts.Rows)
		}
		if len(facts.Defaults) != 1 || facts.Defaults[0].Key.String() != "d" {
			t.Errorf("defaults %+v, want d", facts.Defaults)
		}
		if len(facts.Formats) != 5 || facts.Formats[5504] != (mapping.Parameter{Index: 4, Order: 4}) {
			t.Errorf("formats %v, want five: the disabled one does not count", facts.Formats)
		}
		if _, unknown := facts.Cells[999]; unknown || !facts.Cells[storetest.Retired].Disabled || facts.Cells[1].Name == "" {
			t.Errorf("cells %+v, want cell %d disabled", facts.Cells, storetest.Retired)
		}
		return configure.Decision{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cells, err := f.Cells(t.Context())
	if err != nil || len(cells) < 3 || cells[0].ID != 1 || cells[0].Background == "" {
		t.Errorf("cells %+v, %v; want all of them by id", cells, err)
	}
}

func TestALaboratoryGoesBackToTheDefaults(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.mustChange(sharedTest, f.defaults, write(row("a", 1, 1)))
	f.mustChange(sharedTest, f.lab, write(row("b", 1, 2)))
	f.mustChange(sharedTest, f.lab, target(300))
	f.mustChange(sharedTest, f.lab, configure.Decision{Delete: f.view(sharedTest, f.lab).Rows})
	f.expect(sharedTest, f.lab, false, 300, row("a", 1, 1)) // its own target with the default keys
	f.mustChange(sharedTest, f.lab, configure.Decision{DropTarget: true})
	f.expect(sharedTest, f.lab, false, mapping.DefaultTarget, row("a", 1, 1))
	f.mustChange(sharedTest, f.defaults, configure.Decision{Delete: f.view(sharedTest, f.lab).Rows})
	f.expect(sharedTest, f.lab, false, mapping.DefaultTarget)
}

// The test checks that a change of one scope does not affect rows of another scope.
func TestRowsOfAnotherScopeStay(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.mustChange(sharedTest, f.defaults, write(row("a", 1, 1)))
	defaults := f.view(sharedTest, f.defaults).Rows
	f.mustChange(sharedTest, f.lab, configure.Decision{Delete: defaults})
	f.mustChange(sharedTest, f.lab, write(defaults...))
	f.expect(sharedTest, f.defaults, false, mapping.DefaultTarget, row("a", 1, 1))
}

func TestKeysCompareExactly(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.mustChange(ownTest, f.lab, write(row("o", 1, 1), row("ö", 2, 1), row("é", 3, 1), row("e", 4, 1)))
	err := f.change(ownTest, f.lab, write(row("Ö", 5, 1)))
	if e, ok := apperr.From(err); !ok || e.Reason != "KEY_TAKEN" {
		t.Errorf("Ö beside ö: %v, want KEY_TAKEN, as Caps Lock makes no other key", err)
	}
}
