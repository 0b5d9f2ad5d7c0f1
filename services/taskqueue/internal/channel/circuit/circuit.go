// Package circuit is the circuit breaker for receivers and providers. It pauses deliveries to a destination after
// repeated failures, or when the destination requests a pause. After the pause, one delivery tests whether the
// destination has recovered. Pauses are stored in Redis and apply to all processes, each of which reads them once a
// second.
package circuit

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Open is the first pause of a destination. Pauses grow while it keeps failing.
const Open = 30 * time.Second

const (
	longestAsked = 15 * time.Minute // maximum pause that a destination may request
	maxCounted   = 4096             // maximum number of destinations with a failure count; beyond it, all counts restart
)

// Marks stores the pauses for all processes.
type Marks interface {
	Holds(ctx context.Context) (engine.Holds, error)
	Hold(ctx context.Context, to job.Destination, d time.Duration) error
	TryHeld(ctx context.Context, to job.Destination, d time.Duration) (time.Duration, error)
	FreeHeld(ctx context.Context, to job.Destination) error
}

// Verdict is what one attempt shows about its destination.
type Verdict struct {
	Ill, Well bool          // whether it failed or works; both false: no conclusion
	Asked     time.Duration // pause requested by the destination; 0: none
}

// Circuits holds the paused destinations. It is safe for concurrent use. While Redis does not respond, it uses the
// results of this process.
type Circuits struct {
	marks Marks

	mu       sync.Mutex // guards the fields below
	failures map[job.Destination]int
	until    map[job.Destination]time.Time // when a delivery may test a paused destination
}

// New returns circuits without pauses. RunOnce reads the pauses of all processes.
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

// Wait pauses a destination for d, or ends its pause if d is 0, regardless of the results of deliveries. Redis errors
// are ignored; callers repeat the call.
func (c *Circuits) Wait(ctx context.Context, to job.Destination, d time.Duration) {
	if d > 0 {
		_ = c.marks.Hold(ctx, to, d) // callers repeat the call
		return
	}
	_ = c.marks.FreeHeld(ctx, to)
}

// Holds reports whether a destination is paused, or its pause has ended and no delivery has succeeded yet.
func (c *Circuits) Holds(to job.Destination) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, held := c.until[to]
	return held
}

// Do calls try and records its verdict. If the destination is paused, it does not call try and returns the remaining
// pause, which is never 0. A destination is paused after failures consecutive failures, or after a single one if a
// pause has just ended.
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
	if err != nil || wait == 0 { // without Redis, each process tests by itself
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
		_ = c.marks.Hold(ctx, to, hold) // on an error, the next failure repeats the call
	case free:
		_ = c.marks.FreeHeld(ctx, to) // on an error, the next success repeats the call
	}
}

// count records a verdict. It returns how long all processes have to pause the destination, or whether its pause ends.
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
