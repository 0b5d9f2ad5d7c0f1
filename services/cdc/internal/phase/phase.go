// Package phase owns the answer to one question: does user_meta have the person's columns yet? Before (phase
// migration) the materializer fills the first set of columns and nothing is indexed; after (phase running) everything
// is, beginning with every patient once.
package phase

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Phase is where the migration of user_meta stands.
type Phase string

// The phases, spelt as CDC_PHASE_OVERRIDE and the health page spell them.
const (
	Migration Phase = "migration"
	Running   Phase = "running"
)

// Schema reports whether user_meta has the column that ends the migration.
type Schema interface {
	HasFullName(ctx context.Context) (bool, error)
}

// Walk computes every patient again, from the first on, in its own time. When Restart returns nil that is durable: it
// survives the end of the process.
type Walk interface {
	Restart(ctx context.Context) error
}

// Deps are what a Watch needs.
type Deps struct {
	Schema   Schema
	Walk     Walk
	Override Phase // wins over what the schema says; "" for none
	Interval time.Duration
	Log      *slog.Logger
}

// DefaultInterval is how often the schema is read. Nothing else reports that a column was added: a pipeline that
// does not use it gets no error.
const DefaultInterval = 5 * time.Second

// Watch knows the present phase. It is safe for concurrent use.
type Watch struct {
	d Deps
	// looking holds one value while someone guards present and reads the schema for all. Others wait for it as long as
	// their context lasts: a probe must not wait for a database that is unavailable.
	looking chan struct{}
	present Phase
}

// New returns a Watch that has not looked yet.
func New(d Deps) *Watch { return &Watch{d: d, looking: make(chan struct{}, 1)} }

// lock returns what ends it.
func (w *Watch) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case w.looking <- struct{}{}:
		return func() { <-w.looking }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the phase: %w", ctx.Err())
	}
}

// Phase returns the phase, from memory when someone looked before.
func (w *Watch) Phase(ctx context.Context) (Phase, error) {
	unlock, err := w.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if w.present != "" {
		return w.present, nil
	}
	return w.look(ctx)
}

// Running reports whether the phase is Running.
func (w *Watch) Running(ctx context.Context) (bool, error) {
	now, err := w.Phase(ctx)
	return now == Running, err
}

// Check reads the schema and returns the phase, and whether it differs from the one before.
func (w *Watch) Check(ctx context.Context) (now Phase, changed bool, err error) {
	unlock, err := w.lock(ctx)
	if err != nil {
		return "", false, err
	}
	defer unlock()
	before := w.present
	now, err = w.look(ctx)
	return now, err == nil && before != "" && now != before, err
}

// look is called with the lock held. Nothing changes unless the walk that a change needs is sure to happen: in the
// migration phase changes pass that no one indexes, so its beginning and its end both ask for one.
func (w *Watch) look(ctx context.Context) (Phase, error) {
	now := w.d.Override
	if now == "" {
		has, err := w.d.Schema.HasFullName(ctx)
		if err != nil {
			return "", fmt.Errorf("look at the columns of user_meta: %w", err)
		}
		if now = Migration; has {
			now = Running
		}
	}
	if now == w.present {
		return now, nil
	}
	if now == Migration || w.present == Migration {
		if err := w.d.Walk.Restart(ctx); err != nil {
			return "", fmt.Errorf("ask for a walk over all patients: %w", err)
		}
	}
	w.d.Log.Info("phase of user_meta", "phase", now, "before", w.present, "override", w.d.Override)
	w.present = now
	return now, nil
}

// Run looks again and again until ctx ends. A look that fails is repeated; the one before stays valid.
func (w *Watch) Run(ctx context.Context) error {
	return lifecycle.Every(ctx, w.d.Interval, w.d.Log, "phase of user_meta", func(ctx context.Context) error {
		_, _, err := w.Check(ctx)
		return err
	})
}
