// Package pace owns how many deliveries a second a destination gets: a provider with a rate in its row, or a receiver
// of webhooks. What comes too fast is postponed, which counts as no attempt.
package pace

import (
	"context"
	"math"
	"time"

	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Reason is that of postponed deliveries.
const Reason = "paced"

const (
	uncountedDelay = 5 * time.Second // while the deliveries of all processes cannot be counted
	// keptShare is the part of a rate, as a divisor, that is kept for reserved flows (one-time passwords, urgent notices,
	// the platform's own calls). Of two to four deliveries in a window one is kept.
	keptShare = 5
)

// Pacer counts for all processes that share its limiter. Safe for concurrent use.
type Pacer struct{ limiter ratelimit.Limiter }

// New makes a pacer.
func New(limiter ratelimit.Limiter) *Pacer { return &Pacer{limiter: limiter} }

// Pass returns nil when a delivery of flow to the destination key may go now, else a postponement: it is parked, and
// the janitor lets as many go as the rate takes, laboratories in turn. perSecond 0 is no limit; a rate below one is one
// delivery in so many seconds.
func (p *Pacer) Pass(ctx context.Context, key string, perSecond float64, flow job.Flow) error {
	if p == nil || perSecond <= 0 {
		return nil
	}
	limit, window := windowOf(perSecond)
	allowed := limit
	if !flow.Reserved() {
		allowed = max(1, limit-max(1, limit/keptShare))
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
	return job.Postpone(Reason, decision.RetryAfter).For(job.AtRate(perSecond, key))
}

// windowOf says a rate as a number of deliveries in a time.
func windowOf(perSecond float64) (limit int, window time.Duration) {
	if perSecond < 1 {
		return 1, time.Duration(float64(time.Second) / perSecond)
	}
	return int(math.Floor(perSecond)), time.Second
}
