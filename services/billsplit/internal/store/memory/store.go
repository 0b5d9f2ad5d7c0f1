// Package memory keeps bills in maps, for tests of the use cases. It passes the suite of storetest.
package memory

import (
	"context"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// Store is safe for concurrent use. One transaction runs at a time.
type Store struct {
	mu      sync.Mutex
	state   State          // guarded by mu
	answers map[key]answer // guarded by mu
}

var (
	_ family.Reader = (*Store)(nil)
	_ family.Store  = (*Store)(nil)
	_ split.Store   = (*Store)(nil)
)

type key struct {
	lab  int64
	text string
}

type answer struct{ request, body string }

// New returns a store that holds s.
func New(s State) *Store { return &Store{state: s.Clone(), answers: map[key]answer{}} }

// State returns a copy of what the store holds.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Clone()
}

// ChangeTest edits a test as another program does.
func (s *Store) ChangeTest(id int64, edit func(*bill.Row)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	test := s.state.Tests[id]
	edit(&test.Row)
	s.state.Tests[id] = test
}

func (s *Store) View(_ context.Context, lab authn.LabScope, read func(split.Facts) error) error {
	return read(&transaction{State: s.State(), lab: lab})
}

func (s *Store) Once(
	_ context.Context, lab authn.LabScope, r idempotency.Request, work func(split.Locked) ([]byte, error),
) ([]byte, bool, error) {
	return s.once(lab, r, func(t *transaction) ([]byte, error) { return work(t) })
}

func (s *Store) OnceMerge(
	_ context.Context, lab authn.LabScope, r idempotency.Request, work func(family.Locked) ([]byte, error),
) ([]byte, bool, error) {
	return s.once(lab, r, func(t *transaction) ([]byte, error) { return work(t) })
}

func (s *Store) once(
	lab authn.LabScope, r idempotency.Request, work func(*transaction) ([]byte, error),
) ([]byte, bool, error) {
	if err := idempotency.CheckKey(r.Key); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, request := key{lab.LabID(), r.Key}, r.Operation+" "+string(r.Body)
	if before, ok := s.answers[at]; ok && r.Key != "" {
		if before.request != request {
			return nil, false, idempotency.ErrKeyReused
		}
		return []byte(before.body), true, nil
	}
	t := &transaction{State: s.state.Clone(), lab: lab}
	body, err := work(t)
	if err != nil {
		return nil, false, err
	}
	s.state = t.State
	s.answers[at] = answer{request, string(body)}
	return body, false, nil
}
