// Package clocktest provides a clock that stands still until a test moves it.
package clocktest

import (
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Clock is a clock that a test moves. Its methods may be called from several goroutines.
type Clock struct {
	mu  sync.Mutex
	now time.Time // guarded by mu
}

var _ clock.Clock = (*Clock)(nil)

// New returns a clock that stands at now.
func New(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time of the test.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, which may be negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
