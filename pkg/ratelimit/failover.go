package ratelimit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Limiter allows or refuses attempts. It must be safe for concurrent use.
type Limiter interface {
	Allow(ctx context.Context, key string, limit int, window time.Duration) (Decision, error)
}

// FailoverConfig holds the timeouts of a Failover.
type FailoverConfig struct {
	// Timeout limits the wait for the shared limiter.
	Timeout time.Duration
	// Cooldown is the time for which the shared limiter is skipped after a failure.
	Cooldown time.Duration
	// Failed is called with every failure of the shared limiter; it may be nil.
	Failed func(error)
}

// Failover consults the memory of this process and then a shared limiter. While the shared limiter fails, only the
// memory decides; it also counts the attempts that were allowed before. One process therefore never allows more than
// the limit in any window; without the shared limiter, several processes may allow that many each.
type Failover struct {
	cfg     FailoverConfig
	shared  Limiter
	local   *Local
	clock   clock.Clock
	skipped atomic.Int64 // end of the time for which the shared limiter is skipped, in Unix nanoseconds
}

// NewFailover returns a limiter that counts in the memory of this process and in shared.
func NewFailover(cfg FailoverConfig, shared Limiter, c clock.Clock) *Failover {
	return &Failover{cfg: cfg, shared: shared, local: NewLocal(c), clock: c}
}

// Allow counts an attempt of key. It returns an error only for an invalid limit or window.
func (f *Failover) Allow(ctx context.Context, key string, limit int, window time.Duration) (Decision, error) {
	if err := check(limit, window); err != nil {
		return Decision{}, err
	}
	s := subject{key, window}
	own, id := f.local.take(s, limit)
	if !own.Allowed || f.clock.Now().UnixNano() < f.skipped.Load() {
		return own, nil
	}
	shared, err := f.allowShared(ctx, key, limit, window)
	if err != nil {
		return own, nil //nolint:nilerr // the memory has decided
	}
	if !shared.Allowed {
		f.local.giveBack(s, id)
	}
	shared.Remaining = min(shared.Remaining, own.Remaining)
	return shared, nil
}

// allowShared calls the shared limiter and waits at most the timeout, even if its client ignores the context. An
// attempt that times out may still be counted there.
func (f *Failover) allowShared(ctx context.Context, key string, limit int, window time.Duration) (Decision, error) {
	limited, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	results := make(chan result, 1)
	go func() {
		decision, err := f.shared.Allow(limited, key, limit, window)
		results <- result{decision, err}
	}()
	var r result
	select {
	case r = <-results:
	case <-limited.Done():
		r.err = limited.Err()
	}
	if r.err != nil && ctx.Err() == nil {
		f.skipped.Store(f.clock.Now().Add(f.cfg.Cooldown).UnixNano())
		if f.cfg.Failed != nil {
			f.cfg.Failed(r.err)
		}
	}
	return r.decision, r.err
}

type result struct {
	decision Decision
	err      error
}
