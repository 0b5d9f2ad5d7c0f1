// Package clock provides the current time through an interface, so that expiry, leases, age groups and rate
// limits can be tested without waiting. It has no timers: loops use context and time.NewTimer, which
// testing/synctest virtualises.
package clock

import "time"

// Clock returns the current time. It is safe for concurrent use.
type Clock interface {
	Now() time.Time
}

// System is the machine's clock in UTC, with nanoseconds and the monotonic reading.
type System struct{}

// Now returns the current time in UTC.
func (System) Now() time.Time { return time.Now().UTC() }

// Fixed always returns the same time. It serves tests and the replay of a recorded moment.
type Fixed time.Time

// Now returns the fixed time.
func (f Fixed) Now() time.Time { return time.Time(f) }
