package ratelimit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Limiter decides about attempts.
type Limiter interface {
	Allow(ctx context.Context, key string, limit int, window time.Duration) (Decision, error)
}

// FailoverConfig says how long a shared limiter may be waited for.
type FailoverConfig struct {
	// Patience is how long an attempt waits for the shared limiter.
	Patience time.Duration
	// Rest is how long the shared limiter is not asked after it failed.
	Rest time.Duration
	// Failed hears of every failure; it may be nil.
	Failed func(error)
}

// Failover asks this process's own memory first and then a shared limiter. While the shared one does not answer, memory
// decides alone, and knows what passed before. So one process never lets more than the limit pass in any window,
// whatever fails meanwhile; several processes without the shared limiter let that many pass each.
type Failover struct {
	cfg    FailoverConfig
	shared Limiter
	local  *Local
	clock  clock.Clock
	rests  atomic.Int64 // until when the shared limiter is not asked, nanoseconds since the epoch
}

// NewFailover returns a limiter over a shared one and the memory of this process.
func NewFailover(cfg FailoverConfig, shared Limiter, c clock.Clock) *Failover {
	return &Failover{cfg: cfg, shared: shared, local: NewLocal(c), clock: c}
}

// Allow decides; the only error is that of a limit or window that makes no sense.
func (f *Failover) Allow(ctx context.Context, key string, limit int, window time.Duration) (Decision, error) {
	if err := check(limit, window); err != nil {
		return Decision{}, err
	}
	s := subject{key, window}
	own, id := f.local.take(s, limit)
	if !own.Allowed || f.clock.Now().UnixNano() < f.rests.Load() {
		return own, nil
	}
	shared, err := f.ask(ctx, key, limit, window)
	if err != nil {
		return own, nil //nolint:nilerr // memory has decided
	}
	if !shared.Allowed {
		f.local.giveBack(s, id)
	}
	shared.Remaining = min(shared.Remaining, own.Remaining)
	return shared, nil
}

// ask waits for the shared limiter no longer than its patience, also for a client that does not look at its context. An
// attempt that is given up may still count there.
func (f *Failover) ask(ctx context.Context, key string, limit int, window time.Duration) (Decision, error) {
	asking, cancel := context.WithTimeout(ctx, f.cfg.Patience)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		decision, err := f.shared.Allow(asking, key, limit, window)
		answered <- answer{decision, err}
	}()
	var a answer
	select {
	case a = <-answered:
	case <-asking.Done():
		a.err = asking.Err()
	}
	if a.err != nil && ctx.Err() == nil {
		f.rests.Store(f.clock.Now().Add(f.cfg.Rest).UnixNano())
		if f.cfg.Failed != nil {
			f.cfg.Failed(a.err)
		}
	}
	return a.decision, a.err
}

type answer struct {
	decision Decision
	err      error
}
