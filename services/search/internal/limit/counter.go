package limit

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
)

// KeyPrefix begins the keys of the counts: search:rate:<laboratory>:<kind>:<id>:<window in milliseconds>.
const KeyPrefix = "search:rate:"

const (
	// counterPatience is several times what the cache needs, and little for a search that waits: a cache whose disk is
	// slow for a moment answers late, and this process knows itself what passed it.
	counterPatience = 25 * time.Millisecond
	counterRest     = 2 * time.Second
	warnEvery       = time.Minute
)

// NewCounter counts in shared, which all processes ask, and in the memory of this process while shared does not answer:
// a cache that is unavailable must neither stop the search nor open it.
func NewCounter(shared ratelimit.Limiter, m *Metrics, log *slog.Logger, c clock.Clock) Counter {
	var warned atomic.Int64 // when, nanoseconds since the epoch
	return ratelimit.NewFailover(ratelimit.FailoverConfig{
		Timeout: counterPatience, Cooldown: counterRest,
		Failed: func(err error) {
			m.failovers.Inc()
			now, last := c.Now().UnixNano(), warned.Load()
			if now-last >= warnEvery.Nanoseconds() && warned.CompareAndSwap(last, now) {
				log.Warn("searches are counted by this process alone: the cache does not answer", "error", err.Error())
			}
		},
	}, shared, c)
}
