// Package lifecycle starts and stops the parts of a process in order.
//
// A stop has these steps: report not ready, wait for the drain delay, stop the runners in the reverse order of their
// addition (so that loops end before the servers that were added before them), then run the closers, last added first.
// The group also stops when a runner fails, then without the drain delay.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config holds the delays of a stop.
type Config struct {
	// DrainDelaySeconds is the time for which the process still serves after it has reported not ready.
	DrainDelaySeconds int `env:"DRAIN_DELAY_SECONDS" envDefault:"5"`
	// StopTimeoutSeconds limits the time in which all runners together must end and the closers must finish.
	StopTimeoutSeconds int `env:"STOP_TIMEOUT_SECONDS" envDefault:"30"`
}

// Group holds the runners of a process and the functions that release its resources.
type Group struct {
	cfg     Config
	log     *slog.Logger
	drains  []func()
	runners []*runner
	closers []closer
}

type runner struct {
	name   string
	run    func(context.Context) error
	cancel context.CancelFunc
	done   chan struct{}
}

type closer struct {
	name  string
	close func(context.Context) error
}

// New returns an empty group.
func New(cfg Config, log *slog.Logger) *Group { return &Group{cfg: cfg, log: log} }

// OnDrain adds a function that is called as the first step of a stop.
func (g *Group) OnDrain(f func()) { g.drains = append(g.drains, f) }

// Run adds a runner. run must work until its context ends, and return once it has released everything. A nil return or
// context.Canceled is a clean end; any other error stops the whole group.
func (g *Group) Run(name string, run func(context.Context) error) {
	g.runners = append(g.runners, &runner{name: name, run: run})
}

// Close adds a function that is called after all runners have ended.
func (g *Group) Close(name string, f func(context.Context) error) {
	g.closers = append(g.closers, closer{name, f})
}

// Abandon calls the closers added so far, last added first. It is for a start that fails half-way.
func (g *Group) Abandon(ctx context.Context) { _ = g.closeAll(ctx) }

// Wait starts all runners, waits until ctx ends or a runner fails, and stops everything. It returns the errors of the
// runner and of the stop, or nil after a clean stop.
func (g *Group) Wait(ctx context.Context) error {
	failed := make(chan error, len(g.runners))
	for _, r := range g.runners {
		r.start(context.WithoutCancel(ctx), g.log, failed)
	}
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-failed:
		g.log.Error("runner failed, process stops", "error", failure.Error())
	}
	return errors.Join(failure, g.stop(context.WithoutCancel(ctx), failure == nil))
}

// start runs r in a goroutine. A panic stops the group like an error: in order, with all resources released.
func (r *runner) start(ctx context.Context, log *slog.Logger, failed chan<- error) {
	ctx, r.cancel = context.WithCancel(ctx)
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		if err := Guard(ctx, log, r.name, r.run); err != nil && !errors.Is(err, context.Canceled) {
			failed <- fmt.Errorf("%s: %w", r.name, err)
		}
	}()
}

func (g *Group) stop(ctx context.Context, graceful bool) error {
	for _, drain := range g.drains {
		drain()
	}
	if graceful && g.cfg.DrainDelaySeconds > 0 {
		g.log.Info("draining", "seconds", g.cfg.DrainDelaySeconds)
		_ = Pause(ctx, time.Duration(g.cfg.DrainDelaySeconds)*time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(g.cfg.StopTimeoutSeconds)*time.Second)
	defer cancel()
	var problems []error
	for i := len(g.runners) - 1; i >= 0; i-- {
		r := g.runners[i]
		r.cancel()
		select {
		case <-r.done:
		case <-ctx.Done():
			problems = append(problems, fmt.Errorf("%s did not stop in time", r.name))
		}
	}
	return errors.Join(errors.Join(problems...), g.closeAll(ctx))
}

func (g *Group) closeAll(ctx context.Context) error {
	var problems []error
	for i := len(g.closers) - 1; i >= 0; i-- {
		if err := g.closers[i].close(ctx); err != nil {
			problems = append(problems, fmt.Errorf("close %s: %w", g.closers[i].name, err))
		}
	}
	g.closers = nil
	return errors.Join(problems...)
}

// Pause waits for d. It returns the cause if ctx ends first, otherwise nil.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
