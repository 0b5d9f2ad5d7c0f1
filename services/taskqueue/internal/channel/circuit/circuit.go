// Package circuit owns leaving a receiver or provider alone that fails again and again, or that asked for it: after so
// many failures in a row, deliveries to it wait, then one of them tries whether it is back. The mark of it is in Redis,
// one number for all processes; each reads the marks once a second.
package circuit

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Open is how long a destination is paused at first.
const Open = 30 * time.Second

const (
	longestAsked = 15 * time.Minute // a destination may ask for at most so much
	maxCounted   = 4096             // destinations whose failures are counted
)

// Marks are what all processes know.
type Marks interface {
	Holds(ctx context.Context) (engine.Holds, error)
	Hold(ctx context.Context, to job.Destination, d time.Duration) error
	TryHeld(ctx context.Context, to job.Destination, d time.Duration) (time.Duration, error)
	FreeHeld(ctx context.Context, to job.Destination) error
}

// Verdict is what an attempt says about its destination.
type Verdict struct {
	Ill, Well bool          // neither: nothing
	Asked     time.Duration // the pause that it asked for
}

// Circuits knows which destinations are paused. Safe for concurrent use. When Redis does not answer, what this process
// saw counts.
type Circuits struct {
	marks Marks

	mu       sync.Mutex // guards the fields below
	failures map[job.Destination]int
	until    map[job.Destination]time.Time // when each may be tried
}

// New makes circuits that are all closed.
func New(marks Marks) *Circuits {
	return &Circuits{marks: marks, failures: map[job.Destination]int{}, until: map[job.Destination]time.Time{}}
}

// RunOnce reads what all processes know.
func (c *Circuits) RunOnce(ctx context.Context) error {
	h, err := c.marks.Holds(ctx)
	if err != nil {
		return err
	}
	until, now := make(map[job.Destination]time.Time, len(h.Held)), clock.System{}.Now()
	for to, one := range h.Held {
		until[to] = now.Add(time.Duration(one.UntilMs-h.NowMs) * time.Millisecond)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = until
	return nil
}

// Wait pauses a destination for d, or no longer when d is 0, whatever deliveries showed.
func (c *Circuits) Wait(ctx context.Context, to job.Destination, d time.Duration) {
	if d > 0 {
		_ = c.marks.Hold(ctx, to, d) // without Redis the next look repeats it
		return
	}
	_ = c.marks.FreeHeld(ctx, to)
}

// Holds reports whether a destination is paused.
func (c *Circuits) Holds(to job.Destination) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, held := c.until[to]
	return held
}

// Do calls try, unless the destination is paused: then wait, never zero, is the rest of the pause. So many
// failures in a row close it off, and so does one when it is tried again.
func (c *Circuits) Do(ctx context.Context, to job.Destination, failures int, try func() Verdict) (wait time.Duration) {
	if wait := c.enter(ctx, to); wait > 0 {
		return wait
	}
	c.conclude(context.WithoutCancel(ctx), to, failures, try())
	return 0
}

func (c *Circuits) enter(ctx context.Context, to job.Destination) time.Duration {
	c.mu.Lock()
	at, held := c.until[to]
	left := at.Sub(clock.System{}.Now())
	if held && left <= 0 {
		c.set(to, Open) // the others here wait for the trial
	}
	c.mu.Unlock()
	if !held || left > 0 {
		return max(left, 0)
	}
	wait, err := c.marks.TryHeld(ctx, to, Open)
	if err != nil || wait == 0 { // when Redis does not say, each process tries
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(to, wait)
	return wait
}

// set notes that a destination is paused for d; the caller holds mu.
func (c *Circuits) set(to job.Destination, d time.Duration) {
	c.until[to] = clock.System{}.Now().Add(d)
}

func (c *Circuits) conclude(ctx context.Context, to job.Destination, failures int, v Verdict) {
	switch hold, free := c.count(to, failures, v); {
	case hold > 0:
		_ = c.marks.Hold(ctx, to, hold) // without Redis the next failure says it again
	case free:
		_ = c.marks.FreeHeld(ctx, to) // without Redis the next success says it again
	}
}

// count takes a verdict and returns how long all processes pause the destination, or that the pause ends.
func (c *Circuits) count(to job.Destination, failures int, v Verdict) (hold time.Duration, free bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, held := c.until[to]
	switch {
	case v.Asked > 0:
		hold = min(v.Asked, longestAsked)
	case v.Well:
		delete(c.failures, to)
		delete(c.until, to)
		return 0, held
	case v.Ill:
		if len(c.failures) >= maxCounted {
			clear(c.failures)
		}
		if c.failures[to]++; c.failures[to] >= failures || held {
			hold = Open
		}
	}
	if hold > 0 {
		delete(c.failures, to)
		c.set(to, hold)
	}
	return hold, false
}
