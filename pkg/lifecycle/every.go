package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// panics counts for the whole process: a loop is started where no registry is at hand.
var panics = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "background_panics_total", Help: "Passes of background loops, and tasks after commits, that panicked; the others went on.",
}, []string{"loop"})

// Metrics returns what counts the panics of loops, to be registered once in the registry of the process.
func Metrics() prometheus.Collector { return panics }

// Every calls runOnce at once and then each interval until ctx ends. Errors and panics are logged under name and do
// not stop the loop: a loop that dies silently is worse than one that fails loudly and continues. The same error again
// is logged once a minute.
func Every(
	ctx context.Context,
	interval time.Duration,
	log *slog.Logger,
	name string,
	runOnce func(context.Context) error,
) error {
	return Repeat(ctx, func() time.Duration { return interval }, log, name, runOnce)
}

// Repeat is Every with a pause that is asked for after each pass.
func Repeat(
	ctx context.Context,
	pause func() time.Duration,
	log *slog.Logger,
	name string,
	runOnce func(context.Context) error,
) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	said, repeated := "", time.Duration(0)
	panics.WithLabelValues(name) // a series from the start, so that its first increase is seen
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		switch err := pass(ctx, name, runOnce); {
		case err == nil && said != "":
			log.InfoContext(ctx, "a pass succeeded again", "loop", name)
			said = ""
		case err == nil || ctx.Err() != nil:
		case err.Error() != said || repeated >= time.Minute:
			said, repeated = err.Error(), 0
			complain(ctx, log, name, err)
		}
		next := pause()
		repeated += next
		timer.Reset(next)
	}
}

// Guard calls work once. A panic becomes an error and is counted and logged under name, with its stack.
func Guard(ctx context.Context, log *slog.Logger, name string, work func(context.Context) error) error {
	err := pass(ctx, name, work)
	if p := (*panicError)(nil); errors.As(err, &p) {
		logPanic(ctx, log, name, p)
	}
	return err
}

// panicError stands for a panic. The panic's value may hold a patient's data and goes nowhere.
type panicError struct {
	kind  string
	stack []byte
}

var _ error = (*panicError)(nil)

func (e *panicError) Error() string { return "panic of type " + e.kind }

func pass(ctx context.Context, name string, runOnce func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			panics.WithLabelValues(name).Inc()
			err = &panicError{fmt.Sprintf("%T", p), debug.Stack()}
		}
	}()
	return runOnce(ctx)
}

func complain(ctx context.Context, log *slog.Logger, name string, err error) {
	if p := (*panicError)(nil); errors.As(err, &p) {
		logPanic(ctx, log, name, p)
		return
	}
	log.WarnContext(ctx, "a pass failed; the next one tries again", "loop", name, "error", err.Error())
}

func logPanic(ctx context.Context, log *slog.Logger, name string, p *panicError) {
	log.ErrorContext(ctx, "background work panicked", "loop", name, "type", p.kind, "stack", string(p.stack))
}
