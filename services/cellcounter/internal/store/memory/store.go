// Package memory keeps the cell counter's state in maps, for tests of the use cases. It passes the suite of storetest.
package memory

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Test is a test of the platform.
type Test struct {
	LabID   int64 // 0: every laboratory's
	Formats map[int64]mapping.Parameter
}

// Report is a report of a laboratory, on a bill of a doctor.
type Report struct {
	observe.Report

	LabID, DoctorID int64
}

// scope is one set of mappings.
type scope struct{ test, lab int64 }

type settings struct {
	rows   []mapping.Row
	target int
}

// Store is safe for concurrent use.
type Store struct {
	Tests     map[int64]Test
	CellsByID map[int64]mapping.Cell
	Reports   map[int64]Report

	mu     sync.Mutex
	nextID int64
	scopes map[scope]settings            // guarded by mu
	counts map[observe.Key]observe.Count // guarded by mu
	log    []activitylog.Entry           // guarded by mu
}

var _ configure.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{Tests: map[int64]Test{}, CellsByID: map[int64]mapping.Cell{}, Reports: map[int64]Report{},
		scopes: map[scope]settings{}, counts: map[observe.Key]observe.Count{}}
}

func (s *Store) test(id int64, owner mapping.Owner) (Test, error) {
	t, ok := s.Tests[id]
	if !ok || (!owner.AreDefaults() && t.LabID != 0 && t.LabID != owner.LabID()) {
		return Test{}, mapping.ErrNoTest
	}
	return t, nil
}

func (s *Store) Read(_ context.Context, testID int64, owner mapping.Owner) (configure.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.test(testID, owner); err != nil {
		return configure.View{}, err
	}
	at := scope{testID, owner.LabID()}
	if len(s.scopes[at].rows) == 0 {
		at.lab = 0
	}
	view := configure.View{Rows: slices.Clone(s.scopes[at].rows), OwnLab: at.lab != 0, Target: mapping.DefaultTarget}
	for _, lab := range []int64{0, owner.LabID()} {
		if set, ok := s.scopes[scope{testID, lab}]; ok {
			view.Target = set.target
		}
	}
	slices.SortFunc(view.Rows, func(a, b mapping.Row) int {
		if a.Parameter.Order != b.Parameter.Order {
			return a.Parameter.Order - b.Parameter.Order
		}
		return a.Parameter.Index - b.Parameter.Index
	})
	return view, nil
}

func (s *Store) Cells(context.Context) ([]mapping.Cell, error) {
	ids := slices.Sorted(maps.Keys(s.CellsByID))
	cells := make([]mapping.Cell, len(ids))
	for i, id := range ids {
		cells[i] = s.CellsByID[id]
	}
	return cells, nil
}

func (s *Store) Lock(_ context.Context, testID int64, owner mapping.Owner, work func(configure.Locked) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	test, err := s.test(testID, owner)
	if err != nil {
		return err
	}
	at := scope{testID, owner.LabID()}
	before, ok := s.scopes[at]
	if !ok {
		before.target = mapping.DefaultTarget
		if defaults, ok := s.scopes[scope{testID, 0}]; ok {
			before.target = defaults.target
		}
	}
	l := &locked{store: s, test: test, at: at, now: settings{slices.Clone(before.rows), before.target}}
	if err := work(l); err != nil {
		return err
	}
	if s.scopes[at] = l.now; l.forgotten {
		delete(s.scopes, at)
	}
	return nil
}

// locked implements configure.Locked on a copy that Lock keeps when the work succeeds.
type locked struct {
	store *Store
	test  Test
	at    scope
	now   settings

	forgotten bool
}

var _ configure.Locked = (*locked)(nil)

func (l *locked) Rows(context.Context) ([]mapping.Row, error) { return slices.Clone(l.now.rows), nil }

func (l *locked) Defaults(context.Context) ([]mapping.Row, error) {
	return slices.Clone(l.store.scopes[scope{l.at.test, 0}].rows), nil
}

func (l *locked) Formats(context.Context) (map[int64]mapping.Parameter, error) {
	return maps.Clone(l.test.Formats), nil
}

func (l *locked) Cells(_ context.Context, ids []int64) (map[int64]mapping.Cell, error) {
	found := map[int64]mapping.Cell{}
	for _, id := range ids {
		if c, ok := l.store.CellsByID[id]; ok {
			found[id] = c
		}
	}
	return found, nil
}

func (l *locked) Delete(_ context.Context, ids []int64) error {
	l.now.rows = slices.DeleteFunc(l.now.rows, func(r mapping.Row) bool { return slices.Contains(ids, r.ID) })
	return nil
}

func (l *locked) Forget(context.Context) error {
	l.forgotten = true
	return nil
}

func (l *locked) SetTarget(_ context.Context, n int) error {
	l.now.target = n
	return nil
}

func (l *locked) Apply(_ context.Context, p mapping.Plan, _ authn.Actor) error {
	gone := map[int64]bool{}
	for _, row := range p.Remove {
		gone[row.ID] = true
	}
	rows := slices.DeleteFunc(l.now.rows, func(r mapping.Row) bool { return gone[r.ID] })
	for _, row := range p.Write {
		for _, other := range rows {
			if other.Key.Is(row.Key) {
				return mapping.KeyTaken(row.Key)
			}
			if other.Parameter == row.Parameter {
				return mapping.ParameterTaken(row.Parameter)
			}
		}
		if row.ID == 0 {
			l.store.nextID++
			row.ID = l.store.nextID
		}
		rows = append(rows, row)
	}
	l.now.rows = rows
	return nil
}
