// Package pace limits the deliveries per second to a destination: a provider whose row has a rate, or a webhook
// receiver. Deliveries above the rate are postponed, which does not count as an attempt.
package pace

import (
	"context"
	"math"
	"time"

	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Reason is the reason code of postponed deliveries.
const Reason = "paced"

const (
	uncountedDelay = 5 * time.Second // delay while the shared counter is unavailable
	// keptShare is the divisor of a rate for the part kept for reserved flows (one-time passwords, urgent notices, the
	// platform's own calls). Of two to four deliveries per window, one is kept.
	keptShare = 5
)

// Pacer counts the deliveries of all processes that share its limiter. It is safe for concurrent use.
type Pacer struct{ limiter ratelimit.Limiter }

// New returns a Pacer that counts with limiter.
func New(limiter ratelimit.Limiter) *Pacer { return &Pacer{limiter: limiter} }

// Pass returns nil if a delivery of flow to the destination key may start now, otherwise a postponement. A postponed
// job is parked, and the janitor releases as many as the rate allows, taking laboratories in turn. Jobs of reserved
// flows are not parked; they retry by themselves. perSecond 0 means no limit, 0.1 one delivery per ten seconds. A nil
// Pacer has no limits.
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
	case flow.Reserved(): // not parked, to take the next free place before parked jobs
		return job.Postpone(Reason, decision.RetryAfter)
	}
	return job.Postpone(Reason, decision.RetryAfter).For(job.AtRate(perSecond, key))
}

// windowOf converts a rate to a number of deliveries per window.
func windowOf(perSecond float64) (limit int, window time.Duration) {
	if perSecond < 1 {
		return 1, time.Duration(float64(time.Second) / perSecond)
	}
	return int(math.Floor(perSecond)), time.Second
}
