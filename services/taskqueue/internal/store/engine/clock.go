package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Clock returns Redis's time. Redis decides when jobs are due and when leases expire, so the times that a process
// stores with jobs or compares with Redis's times come from this clock. A difference between the clocks of the two
// machines then has no effect. Until the first measurement it returns the process's own time. It is safe for concurrent
// use.
type Clock struct {
	System clock.Clock
	ahead  atomic.Int64 // nanoseconds
}

// Now returns the time of Redis.
func (c *Clock) Now() time.Time { return c.System.Now().Add(c.Ahead()) }

// Ahead returns how far Redis's clock is ahead of the process's clock; negative if it is behind.
func (c *Clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// Measure compares the clocks. After an error, the last difference is kept.
func (c *Clock) Measure(ctx context.Context, q interface {
	Holds(ctx context.Context) (Holds, error)
}) error {
	asked := c.System.Now()
	h, err := q.Holds(ctx)
	if err != nil {
		return err
	}
	c.ahead.Store(int64(time.UnixMilli(h.NowMs).Sub(asked.Add(c.System.Now().Sub(asked) / 2))))
	return nil
}
