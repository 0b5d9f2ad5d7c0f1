package limit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Reader reads the mode set by an operator.
type Reader interface {
	// Mode returns the text of the mode, or "" if none is set.
	Mode(ctx context.Context) (string, error)
}

const (
	// keep is how long the last mode is used while it cannot be read. Then the mode becomes normal, because a permanently
	// unavailable cache must not keep all users limited.
	keep = time.Minute
	// patience is the timeout of one read.
	patience = time.Second
)

// WatchDeps are the dependencies of a Watch. If Reader is nil, the mode is always normal.
type WatchDeps struct {
	Reader  Reader
	Every   time.Duration
	Clock   clock.Clock
	Log     *slog.Logger
	Metrics *Metrics
}

// Watch keeps the present mode. Its methods may be called from several goroutines.
type Watch struct {
	d WatchDeps

	mu      sync.Mutex // guards the following fields
	mode    Mode
	read    time.Time // when the mode was last read
	failing bool      // the last read failed
}

// NewWatch returns a watch. Its mode is normal until Run has read it.
func NewWatch(d WatchDeps) *Watch {
	w := &Watch{d: d, mode: Normal, read: d.Clock.Now()}
	d.Metrics.mode(Normal)
	return w
}

// Mode returns the present mode.
func (w *Watch) Mode() Mode {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mode
}

// Run reads the mode every WatchDeps.Every until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	if w.d.Reader == nil {
		<-ctx.Done()
		return nil
	}
	return lifecycle.Every(ctx, w.d.Every, w.d.Log, "rate limit mode", func(ctx context.Context) error {
		w.RunOnce(ctx)
		return nil
	})
}

// RunOnce reads the mode once.
func (w *Watch) RunOnce(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := w.d.Reader.Mode(reading)
	if ctx.Err() != nil {
		return
	}
	mode, known := ParseMode(text)
	switch {
	case err != nil:
		w.miss(ctx, "unreachable", "error", err.Error())
	case !known:
		w.miss(ctx, "unknown_value", "hint", "set search:rate_limit_mode to normal, degraded or emergency")
	default:
		w.settle(ctx, mode)
	}
}

func (w *Watch) settle(ctx context.Context, mode Mode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read, w.failing = w.d.Clock.Now(), false
	w.change(ctx, mode)
}

// miss handles a failed read. It keeps the last mode for the duration keep, then returns to Normal. A series of
// failures is logged once.
func (w *Watch) miss(ctx context.Context, cause string, attrs ...any) {
	w.d.Metrics.missed(cause)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.failing {
		w.d.Log.WarnContext(ctx, "rate limit mode cannot be read", append([]any{"cause", cause, "mode", w.mode}, attrs...)...)
	}
	w.failing = true
	if w.d.Clock.Now().Sub(w.read) >= keep {
		w.change(ctx, Normal)
	}
}

// change sets the mode. The caller holds w.mu.
func (w *Watch) change(ctx context.Context, mode Mode) {
	if mode != w.mode {
		w.d.Log.WarnContext(ctx, "rate limit mode changed", "from", w.mode, "to", mode)
	}
	w.mode = mode
	w.d.Metrics.mode(mode)
}
