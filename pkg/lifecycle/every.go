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

// panics is shared by the whole process, because loops are started where no registry is available.
var panics = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "background_panics_total", Help: "Runs of background loops and tasks after commits that panicked.",
}, []string{"loop"})

// Metrics returns the counter of panics. Register it once, in the registry of the process.
func Metrics() prometheus.Collector { return panics }

// Every calls runOnce at once and then after each interval until ctx ends, and returns nil. Errors and panics are
// logged under name and do not stop the loop. A repeated error is logged once a minute.
func Every(
	ctx context.Context,
	interval time.Duration,
	log *slog.Logger,
	name string,
	runOnce func(context.Context) error,
) error {
	return Repeat(ctx, func() time.Duration { return interval }, log, name, runOnce)
}

// Repeat calls runOnce like Every, with an interval that pause returns after each run.
func Repeat(
	ctx context.Context,
	pause func() time.Duration,
	log *slog.Logger,
	name string,
	runOnce func(context.Context) error,
) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	logged, repeated := "", time.Duration(0)
	panics.WithLabelValues(name) // creates the series, so that its first increase is visible
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		switch err := runRecovered(ctx, name, runOnce); {
		case err == nil && logged != "":
			log.InfoContext(ctx, "background loop recovered", "loop", name)
			logged = ""
		case err == nil || ctx.Err() != nil:
		case err.Error() != logged || repeated >= time.Minute:
			logged, repeated = err.Error(), 0
			logFailure(ctx, log, name, err)
		}
		next := pause()
		repeated += next
		timer.Reset(next)
	}
}

// Guard calls work once. A panic is returned as an error, and counted and logged under name with its stack.
func Guard(ctx context.Context, log *slog.Logger, name string, work func(context.Context) error) error {
	err := runRecovered(ctx, name, work)
	if p := (*panicError)(nil); errors.As(err, &p) {
		logPanic(ctx, log, name, p)
	}
	return err
}

// panicError stands for a panic. The panic's value may contain patient data and is discarded.
type panicError struct {
	kind  string
	stack []byte
}

var _ error = (*panicError)(nil)

func (e *panicError) Error() string { return "panic of type " + e.kind }

func runRecovered(ctx context.Context, name string, runOnce func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			panics.WithLabelValues(name).Inc()
			err = &panicError{fmt.Sprintf("%T", p), debug.Stack()}
		}
	}()
	return runOnce(ctx)
}

func logFailure(ctx context.Context, log *slog.Logger, name string, err error) {
	if p := (*panicError)(nil); errors.As(err, &p) {
		logPanic(ctx, log, name, p)
		return
	}
	log.WarnContext(ctx, "background loop failed, will retry", "loop", name, "error", err.Error())
}

func logPanic(ctx context.Context, log *slog.Logger, name string, p *panicError) {
	log.ErrorContext(ctx, "background work panicked", "loop", name, "type", p.kind, "stack", string(p.stack))
}
