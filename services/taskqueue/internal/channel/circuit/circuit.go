// Package circuit is the circuit breaker of receivers and providers: it pauses deliveries to a destination after
// repeated failures, or when the destination asks for a pause; then one delivery tries whether it has recovered. The
// pauses are in Redis and hold for all processes, each of which reads them once a second.
package circuit

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Open is the first pause of a destination; while it keeps failing, the pauses grow.
const Open = 30 * time.Second

const (
	longestAsked = 15 * time.Minute // longest pause that a destination may ask for
	maxCounted   = 4096             // destinations whose failures are counted; beyond that all counts restart
)

// Marks stores the pauses for all processes.
type Marks interface {
	Holds(ctx context.Context) (engine.Holds, error)
	Hold(ctx context.Context, to job.Destination, d time.Duration) error
	TryHeld(ctx context.Context, to job.Destination, d time.Duration) (time.Duration, error)
	FreeHeld(ctx context.Context, to job.Destination) error
}

// Verdict is the conclusion from one attempt about its destination.
type Verdict struct {
	Ill, Well bool          // neither: no conclusion
	Asked     time.Duration // pause that the destination asked for; 0: none
}

// Circuits holds the paused destinations. Safe for concurrent use. While Redis does not respond, it uses what this
// process observed.
type Circuits struct {
	marks Marks

	mu       sync.Mutex // guards the fields below
	failures map[job.Destination]int
	until    map[job.Destination]time.Time // when a delivery may try a paused destination
}

// New returns circuits without pauses; RunOnce reads the pauses of all processes.
func New(marks Marks) *Circuits {
	return &Circuits{marks: marks, failures: map[job.Destination]int{}, until: map[job.Destination]time.Time{}}
}

// RunOnce reads the pauses of all processes.
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

// Wait pauses a destination for d, or ends its pause when d is 0, independently of deliveries. Errors of Redis are
// ignored: callers repeat the call.
func (c *Circuits) Wait(ctx context.Context, to job.Destination, d time.Duration) {
	if d > 0 {
		_ = c.marks.Hold(ctx, to, d) // the caller repeats it
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

// Do calls try and records its verdict, unless the destination is paused: then it returns the rest of the pause, never
// 0. That many failures in a row pause the destination, and so does a single one when a pause has just ended.
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
		c.set(to, Open) // other deliveries of this process wait for the result
	}
	c.mu.Unlock()
	if !held || left > 0 {
		return max(left, 0)
	}
	wait, err := c.marks.TryHeld(ctx, to, Open)
	if err != nil || wait == 0 { // without Redis each process tries by itself
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(to, wait)
	return wait
}

// set records that a destination is paused for d; the caller holds mu.
func (c *Circuits) set(to job.Destination, d time.Duration) {
	c.until[to] = clock.System{}.Now().Add(d)
}

func (c *Circuits) conclude(ctx context.Context, to job.Destination, failures int, v Verdict) {
	switch hold, free := c.count(to, failures, v); {
	case hold > 0:
		_ = c.marks.Hold(ctx, to, hold) // after an error the next failure repeats it
	case free:
		_ = c.marks.FreeHeld(ctx, to) // after an error the next success repeats it
	}
}

// count records a verdict. It returns for how long all processes pause the destination, or that its pause ends.
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
