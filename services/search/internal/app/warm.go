package app

import (
	"context"
	"errors"
	"sync"
)

// warmable is the part of the index that readiness depends on.
type warmable interface {
	Ready(ctx context.Context) error
	Warm(ctx context.Context)
}

var errWarming = errors.New("the index is searched until the engine is warm; this takes some seconds")

// warmUp reports the process as ready once the search engine is warm. It also warms up an engine that recovered from a
// failure. Searches continue meanwhile, because slow responses are better than errors.
type warmUp struct {
	index warmable

	mu    sync.Mutex
	down  bool // guarded by mu; the engine did not respond and may have restarted
	begun bool // guarded by mu
	warm  bool // guarded by mu
}

// Ready returns an error until the engine responds and has been warmed up once. It starts a warm-up if needed.
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
