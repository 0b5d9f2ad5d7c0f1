package limit

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
)

// KeyPrefix is the prefix of the counters' keys: search:rate:<laboratory>:<kind>:<id>:<window in milliseconds>, and
// search:rate:read:… for opened patients.
const KeyPrefix = "search:rate:"

const (
	// counterPatience is the timeout of the shared counter. It is several times the normal latency of the cache, but short
	// compared with a search. After a timeout, this process counts locally.
	counterPatience = 25 * time.Millisecond
	counterRest     = 2 * time.Second
	warnEvery       = time.Minute
)

// NewCounter returns a counter that counts in shared, which all processes use. While shared does not respond, it counts
// in the memory of this process. An unavailable cache must neither block searches nor remove the limit.
func NewCounter(shared ratelimit.Limiter, m *Metrics, log *slog.Logger, c clock.Clock) Counter {
	var warned atomic.Int64 // time of the last warning in nanoseconds since the epoch
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
