package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/live"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// fixture is a board's reader in a synctest bubble.
type fixture struct {
	t      *testing.T
	signal chan struct{}
	sees   callout.Visibility

	mu    sync.Mutex // guards the following fields
	items []worklist.Item
	err   error
	looks int
	said  []string
	open  int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{t: t, signal: make(chan struct{}, 1), sees: callout.Visibility{Rule: callout.SessionDepartments, Departments: []int64{4}}}
}

// Open filters by departments only.
func (b *fixture) Open(_ context.Context, scope authn.LabScope, v callout.Visibility) (worklist.Open, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks++
	if scope.LabID() != 12 {
		return worklist.Open{}, errors.New("another laboratory")
	}
	o := worklist.Open{Now: time.Now()}
	for _, i := range b.items {
		if slices.Contains(v.Departments, *i.Report.Test.DepartmentID) {
			o.Items = append(o.Items, i)
		}
	}
	return o, b.err
}

func (b *fixture) Recent(context.Context, authn.LabScope, callout.Visibility) (worklist.Summary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return worklist.Summary{Open: int64(len(b.items))}, nil
}

func (b *fixture) Listen(context.Context, authn.LabScope) (<-chan struct{}, func(), error) {
	return b.signal, func() {}, nil
}

func (b *fixture) Watching(change int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open += change
}

// count returns the number of checks and of open boards.
func (b *fixture) count() (looks, open int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks, b.open
}

type reader struct{ b *fixture }

func (r reader) Admitted() error { return nil }

func (r reader) Open(o worklist.Open) error { return r.b.say("%d wait", len(o.Items)) }

func (r reader) Summary(s worklist.Summary) error { return r.b.say("of %d", s.Open) }

func (r reader) Alive() error { return r.b.say("alive") }

func (b *fixture) say(format string, args ...any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, fmt.Sprintf(format, args...))
	return nil
}

// want compares the events since the previous call of want.
func (b *fixture) want(said ...string) {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.said, said) {
		b.t.Fatalf("events %q, want %q", b.said, said)
	}
	b.said = nil
}

// add adds a waiting result in a department.
func (b *fixture) add(id, department int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, worklist.Item{Report: callout.Report{ID: id, Test: callout.Test{DepartmentID: &department}}})
}

func (b *fixture) watch() (ended <-chan error) {
	done := make(chan error, 1)
	scope, err := authn.Principal{Kind: authn.Service}.Scope(12)
	if err != nil {
		b.t.Fatal(err)
	}
	u := live.New(live.Deps{Worklist: b, Signals: b, Gauge: b, MaxAge: time.Hour})
	go func() { done <- u.Watch(b.t.Context(), scope, b.sees, reader{b}) }()
	return done
}

func TestABoardGetsChangesOfItsDepartmentsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		ended := b.watch()
		b.want("0 wait", "of 0")
		b.add(1, 4)
		b.signal <- struct{}{}
		time.Sleep(time.Second) // in virtual time
		b.want("1 wait", "of 1")
		b.add(2, 5)
		b.signal <- struct{}{}
		time.Sleep(time.Second)
		b.want("of 2") // only the laboratory's figures changed, not the list
		time.Sleep(3 * time.Second)
		b.add(3, 4) // without a signal
		time.Sleep(15 * time.Second)
		b.want("2 wait", "of 3")
		time.Sleep(15 * time.Second)
		b.want("alive")
		time.Sleep(time.Hour)
		b.mu.Lock()
		b.said = nil // Alive is sent every 15 seconds
		b.mu.Unlock()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		b.want()
		if _, open := b.count(); open != 0 {
			t.Errorf("%d boards are open, want none", open)
		}
	})
}

func TestManySignalsMakeFewChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		ended := b.watch()
		b.want("0 wait", "of 0")
		for range 1000 { // all within one second
			select {
			case b.signal <- struct{}{}:
			default:
			}
			time.Sleep(time.Millisecond)
		}
		if looks, _ := b.count(); looks > 6 {
			t.Errorf("%d checks, want at most four a second", looks)
		}
		time.Sleep(2 * time.Hour)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnUnavailableStoreEndsTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		ended := b.watch()
		b.want("0 wait", "of 0")
		b.mu.Lock()
		b.err = errors.New("away")
		b.mu.Unlock()
		time.Sleep(time.Minute)
		if err := <-ended; err == nil {
			t.Fatal("the board stays with what it had")
		}
	})
}
