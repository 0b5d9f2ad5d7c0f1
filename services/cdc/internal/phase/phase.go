// Package phase detects whether user_meta has the person's columns yet. Until then (phase migration), the materializer
// fills only the first set of columns and nothing is indexed. Afterwards (phase running), all columns are filled and
// indexed, starting with a full resync.
package phase

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Phase is the state of the migration of user_meta.
type Phase string

// Phases, as spelled in CDC_PHASE_OVERRIDE and on the health page.
const (
	Migration Phase = "migration"
	Running   Phase = "running"
)

// Schema reports whether user_meta has the column that ends the migration.
type Schema interface {
	HasFullName(ctx context.Context) (bool, error)
}

// Walk starts full resyncs, which run in the background. Once Restart has returned nil, the start survives the end of
// the process.
type Walk interface {
	Restart(ctx context.Context) error
}

// Deps are the dependencies and settings of a Watch.
type Deps struct {
	Schema   Schema
	Walk     Walk
	Override Phase // replaces the detected phase; empty: none
	Interval time.Duration
	Log      *slog.Logger
}

// DefaultInterval is how often the schema is read. Polling is needed, because an added column causes no error in a
// pipeline that does not use it.
const DefaultInterval = 5 * time.Second

// Watch holds the current phase. It is safe for concurrent use.
type Watch struct {
	d Deps
	// looking is a lock that guards present: the holder has put one value into it. Callers wait for the lock only until
	// their contexts end, so that a probe does not wait for an unavailable database.
	looking chan struct{}
	present Phase
}

// New returns a Watch. It does not read the schema.
func New(d Deps) *Watch { return &Watch{d: d, looking: make(chan struct{}, 1)} }

// lock waits for the lock; unlock releases it.
func (w *Watch) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case w.looking <- struct{}{}:
		return func() { <-w.looking }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the phase: %w", ctx.Err())
	}
}

// Phase returns the phase. It reads the schema only if it has not been read yet.
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

// Check reads the schema. It returns the phase and whether it differs from the previous one.
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

// look reads the schema; the caller holds the lock. The phase changes only after the required full resync was started
// durably. Changes in the migration phase are not indexed, so both its begin and its end start a full resync.
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

// Run reads the schema periodically until ctx ends. After an error, the previous phase stays valid.
func (w *Watch) Run(ctx context.Context) error {
	return lifecycle.Every(ctx, w.d.Interval, w.d.Log, "phase of user_meta", func(ctx context.Context) error {
		_, _, err := w.Check(ctx)
		return err
	})
}
