// Package pace owns how many deliveries a second a destination gets: a provider whose row says so, or a receiver of
// webhooks. What comes too fast is postponed, which counts as no attempt.
package pace

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Reason is that of postponed deliveries.
const Reason = "paced"

const (
	uncountedDelay = 5 * time.Second // while the deliveries of all processes cannot be counted
	longest        = time.Minute     // a postponed delivery looks again at least this often
	maxKnown       = 4096
	keptShare      = 5 // a fifth of the rate is kept for one-time passwords and the platform's own calls
)

// Pacer counts for all processes that share its limiter. Safe for concurrent use.
type Pacer struct {
	limiter ratelimit.Limiter
	clock   clock.Clock

	mu   sync.Mutex // guards next
	next map[string]time.Time
}

// New makes a pacer.
func New(limiter ratelimit.Limiter, clk clock.Clock) *Pacer {
	return &Pacer{limiter: limiter, clock: clk, next: map[string]time.Time{}}
}

// Pass returns nil when a delivery of flow to the destination key may go now, else a postponement. perSecond 0 is no
// limit; a rate below one is one delivery in so many seconds.
func (p *Pacer) Pass(ctx context.Context, key string, perSecond float64, flow job.Flow) error {
	if p == nil || perSecond <= 0 {
		return nil
	}
	limit, window := windowOf(perSecond)
	allowed := limit
	if !flow.Reserved() {
		allowed = max(1, limit-limit/keptShare)
	}
	decision, err := p.limiter.Allow(ctx, key, allowed, window)
	switch {
	case err != nil:
		return job.Postpone(Reason, uncountedDelay).WithCause(err)
	case decision.Allowed:
		return nil
	case flow.Reserved(): // it takes the next place, whatever waits
		return job.Postpone(Reason, decision.RetryAfter)
	}
	return job.Postpone(Reason, p.turn(key, decision.RetryAfter, perSecond))
}

// windowOf says a rate as a number of deliveries in a time.
func windowOf(perSecond float64) (limit int, window time.Duration) {
	if perSecond < 1 {
		return 1, time.Duration(float64(time.Second) / perSecond)
	}
	return int(math.Floor(perSecond)), time.Second
}

// turn spreads the postponed over the time that the rate needs for them. Otherwise all of them would come back at once,
// and again and again.
func (p *Pacer) turn(key string, wait time.Duration, perSecond float64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if len(p.next) > maxKnown {
		clear(p.next) // some come back too early, once
	}
	at := p.next[key]
	if soonest := now.Add(wait); at.Before(soonest) {
		at = soonest
	}
	at = at.Add(time.Duration(float64(time.Second) / perSecond))
	if last := now.Add(longest); at.After(last) {
		at = last
	}
	p.next[key] = at
	return at.Sub(now)
}
