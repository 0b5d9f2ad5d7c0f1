// Package ratelimit implements the platform's sliding-window rate limits: within any window at most limit attempts of a
// key are allowed, and a refused caller learns how long to wait. Redis counts for all processes together, Local for one
// process, and Failover combines both, so that limits hold while Redis is unavailable. A window is half-open: an
// attempt exactly one window ago no longer counts.
package ratelimit

import (
	"errors"
	"time"
)

// Decision is the result of one attempt.
type Decision struct {
	Allowed    bool
	Remaining  int           // further attempts allowed now
	RetryAfter time.Duration // if refused: time until the next attempt is allowed, more than zero
}

// check returns an error for limits that would never allow an attempt.
func check(limit int, window time.Duration) error {
	if limit < 1 || window < time.Millisecond {
		return errors.New("rate limit: the limit must be at least 1 and the window at least 1ms")
	}
	return nil
}
