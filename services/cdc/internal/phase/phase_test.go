package phase_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/phase"
)

// schema is a fake of information_schema.
type schema struct {
	mu    sync.Mutex // guards the other fields while a watch runs
	has   bool
	err   error
	looks int
}

func (s *schema) HasFullName(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.has, s.err
}

func (s *schema) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.has = true
}

type walk struct {
	restarts int
	err      error
}

func (w *walk) Restart(context.Context) error {
	if w.err == nil {
		w.restarts++
	}
	return w.err
}

func watch(s *schema, w *walk, override phase.Phase) *phase.Watch {
	return phase.New(phase.Deps{Schema: s, Walk: w, Override: override, Interval: time.Second, Log: slog.New(slog.DiscardHandler)})
}

func TestThePhaseIsWhatTheSchemaSaysAndThenRemembered(t *testing.T) {
	t.Parallel()
	for has, want := range map[bool]phase.Phase{false: phase.Migration, true: phase.Running} {
		s := &schema{has: has}
		w := watch(s, &walk{}, "")
		for range 3 {
			if got, err := w.Phase(t.Context()); err != nil || got != want {
				t.Fatalf("%q, %v", got, err)
			}
		}
		if s.looks != 1 {
			t.Errorf("looked %d times", s.looks)
		}
	}
}

func TestAnOverrideWins(t *testing.T) {
	t.Parallel()
	s := &schema{has: true}
	w := watch(s, &walk{}, phase.Migration)
	if got, changed, err := w.Check(t.Context()); err != nil || changed || got != phase.Migration || s.looks != 0 {
		t.Fatalf("%q, changed %v, %v, %d looks", got, changed, err, s.looks)
	}
}

func TestADatabaseThatIsAwayLeavesThePhaseUnknown(t *testing.T) {
	t.Parallel()
	s := &schema{err: errors.New("away")}
	w := watch(s, &walk{}, "")
	if got, err := w.Phase(t.Context()); err == nil || got != "" {
		t.Fatalf("%q, %v", got, err)
	}
	s.err = nil
	if got, err := w.Phase(t.Context()); err != nil || got != phase.Migration {
		t.Fatalf("got %q, %v, want phase.Migration", got, err)
	}
}

// TestAWalkIsAskedForAroundTheMigration checks that a full resync is started at the begin of a migration and again at
// its end, because changes in between are not indexed. The process may crash during the migration.
func TestAWalkIsAskedForAroundTheMigration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		columns []bool // results of consecutive reads
		want    int
	}{
		"running from the first":   {[]bool{true, true}, 0},
		"in the migration":         {[]bool{false, false}, 1},
		"through the migration":    {[]bool{false, false, true, true}, 2},
		"back into the migration":  {[]bool{true, false}, 1},
		"back and through it":      {[]bool{true, false, true}, 2},
		"starts after it was over": {[]bool{true}, 0},
	} {
		s, wk := &schema{}, &walk{}
		w := watch(s, wk, "")
		for i, has := range c.columns {
			s.has = has
			_, changed, err := w.Check(t.Context())
			if err != nil || changed != (i > 0 && has != c.columns[i-1]) {
				t.Errorf("%s: look %d: changed %v, %v", name, i, changed, err)
			}
		}
		if wk.restarts != c.want {
			t.Errorf("%s: %d walks", name, wk.restarts)
		}
	}
}

func TestThePhaseDoesNotChangeBeforeItsWalkIsSure(t *testing.T) {
	t.Parallel()
	s, wk := &schema{}, &walk{}
	w := watch(s, wk, "")
	if _, err := w.Phase(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.has, wk.err = true, errors.New("away")
	if _, changed, err := w.Check(t.Context()); err == nil || changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	if got, _ := w.Phase(t.Context()); got != phase.Migration {
		t.Fatalf("phase %q", got)
	}
	wk.err = nil
	if got, changed, err := w.Check(t.Context()); err != nil || !changed || got != phase.Running || wk.restarts != 2 {
		t.Fatalf("%q, changed %v, %v, %d walks", got, changed, err, wk.restarts)
	}
}

func TestAColumnThatAppearsIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &schema{}
		w := watch(s, &walk{}, "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		time.Sleep(5500 * time.Millisecond) // virtual time
		synctest.Wait()
		s.add()
		time.Sleep(time.Second)
		synctest.Wait()
		if got, err := w.Phase(ctx); err != nil || got != phase.Running {
			t.Fatalf("got %q, %v, want phase.Running", got, err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}
