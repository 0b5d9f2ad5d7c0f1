package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Clock tells Redis's time. Redis judges when jobs are due and when they expire, so what a process stamps for it, or
// compares with such a stamp, is of this clock: a difference between the two machines then changes nothing. It is the
// process's own clock until the first measurement. Safe for concurrent use.
type Clock struct {
	System clock.Clock
	ahead  atomic.Int64 // nanoseconds
}

// Now is Redis's time.
func (c *Clock) Now() time.Time { return c.System.Now().Add(c.Ahead()) }

// Ahead is how far Redis's clock is ahead of the process's own; negative when it is behind.
func (c *Clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// Measure compares the clocks. Without an answer the last difference is kept.
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
