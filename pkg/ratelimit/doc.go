// Package ratelimit owns the platform's sliding windows: of one subject never more than the limit pass in any window,
// and the one that is refused learns how long to wait. Redis counts for all processes together, Local for one process,
// Failover for both, so that limits hold while Redis is unavailable. A window is half-open: what passed exactly one
// window ago no longer counts.
package ratelimit

import (
	"errors"
	"time"
)

// Decision is the answer to one attempt.
type Decision struct {
	Allowed    bool
	Remaining  int           // how many more may pass now
	RetryAfter time.Duration // when refused: how long until the next may pass, more than zero
}

// check refuses limits that nothing could ever pass.
func check(limit int, window time.Duration) error {
	if limit < 1 || window < time.Millisecond {
		return errors.New("rate limit: the limit must be at least 1 and the window a millisecond")
	}
	return nil
}
