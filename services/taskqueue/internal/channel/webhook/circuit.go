package webhook

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
)

const (
	breakerFailures = 10
	breakerOpen     = 30 * time.Second
	maxPathClasses  = 64 // of one receiver; the paths beyond share one circuit
)

// circuit pauses one kind of request that keeps failing at a receiver.
type circuit struct {
	breaker *gobreaker.CircuitBreaker[*netguard.Response]
	clock   clock.Clock
	opened  atomic.Int64 // ms since 1970
}

func newCircuit(clk clock.Clock) *circuit {
	c := &circuit{clock: clk}
	c.breaker = gobreaker.NewCircuitBreaker[*netguard.Response](gobreaker.Settings{
		MaxRequests: 1, Timeout: breakerOpen,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerFailures },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				c.opened.Store(clk.Now().UnixMilli())
			}
		},
	})
	return c
}

// pause is how long it makes sense to wait before the next request.
func (c *circuit) pause() time.Duration {
	over := time.UnixMilli(c.opened.Load()).Add(breakerOpen)
	return max(busyDelay, over.Sub(c.clock.Now()))
}

// circuit is the one of a path at a receiver.
func (h *hosts) circuit(one *host, path string) *circuit {
	class := pathClass(path)
	h.mu.Lock()
	defer h.mu.Unlock()
	if one.circuits[class] == nil && len(one.circuits) >= maxPathClasses {
		class = ""
	}
	if one.circuits[class] == nil {
		one.circuits[class] = newCircuit(h.clock)
	}
	return one.circuits[class]
}

// paused counts the circuits that are open.
func (h *hosts) paused() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.known {
		for _, c := range one.circuits {
			if c.breaker.State() == gobreaker.StateOpen {
				n++
			}
		}
	}
	return n
}

// pathClass is the path without what looks like the id of a thing: /bill/17/paid and /bill/18/paid fail together.
func pathClass(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.ContainsAny(part, "0123456789") {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}
