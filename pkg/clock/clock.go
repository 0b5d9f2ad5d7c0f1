// Package clock owns the source of the present time, so that expiry, leases, age bands and rate limits can
// be tested without waiting. It refuses timers: loops use context and time.NewTimer, which
// testing/synctest virtualises.
package clock

import "time"

// Clock tells the present time.
type Clock interface {
	Now() time.Time
}

// System is the machine's clock in UTC, to the nanosecond, with the monotonic reading kept.
type System struct{}

// Now returns the present time in UTC.
func (System) Now() time.Time { return time.Now().UTC() }

// Fixed always tells the same time. For tests and for replaying a recorded moment.
type Fixed time.Time

// Now returns the fixed time.
func (f Fixed) Now() time.Time { return time.Time(f) }
