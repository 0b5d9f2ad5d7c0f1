package app

import (
	"context"
	"errors"
	"sync"
)

// warmable is the index, as readiness needs it.
type warmable interface {
	Ready(ctx context.Context) error
	Warm(ctx context.Context)
}

var errWarming = errors.New("the index is searched until the engine is warm; this takes some seconds")

// warmUp makes the process ready once the engine is warm, and warms an engine that recovers while searches continue:
// they are slow then, and not refused.
type warmUp struct {
	index warmable

	mu    sync.Mutex
	down  bool // guarded by mu; it may have started again
	begun bool // guarded by mu
	warm  bool // guarded by mu
}

// Ready implements a check of readiness.
func (w *warmUp) Ready(ctx context.Context) error {
	err := w.index.Ready(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.down = true
		return err
	}
	if !w.begun || w.down {
		w.begun, w.down = true, false
		go w.run(context.WithoutCancel(ctx))
	}
	if !w.warm {
		return errWarming
	}
	return nil
}

func (w *warmUp) run(ctx context.Context) {
	w.index.Warm(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warm = true
}
