// Package circuit owns leaving a receiver or provider alone that fails again and again: after so many failures in a row
// requests to it wait, then one of them tries whether it is back.
package circuit

import (
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/labplatform/labplatform/pkg/clock"
)

// Open is how long a circuit stays open before the next request tries.
const Open = 30 * time.Second

// probing is how long to wait while one request tries whether the receiver is back.
const probing = 500 * time.Millisecond

// Settings of a circuit.
type Settings struct {
	Failures uint32            // in a row, which open it
	Healthy  func(error) bool  // nil: no error
	Excluded func(error) bool  // errors that say nothing of the receiver; nil: none
	Changed  func(isOpen bool) // it must not block; nil: nobody asks
}

// Circuit guards one receiver. Safe for concurrent use.
type Circuit struct {
	breaker *gobreaker.CircuitBreaker[struct{}]
	opened  atomic.Int64 // ms since 1970, by the machine's clock, as the breaker's own
}

// New makes a closed circuit.
func New(s Settings) *Circuit {
	c := &Circuit{}
	c.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1, Timeout: Open, IsSuccessful: s.Healthy, IsExcluded: s.Excluded,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= s.Failures },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				c.opened.Store(clock.System{}.Now().UnixMilli())
			}
			if s.Changed != nil {
				s.Changed(to == gobreaker.StateOpen)
			}
		},
	})
	return c
}

// Do calls try, whose error counts for or against the receiver. When the circuit is open it does not, and wait, which
// is never zero then, says how long it stays so.
func (c *Circuit) Do(try func() error) (wait time.Duration) {
	tried := false
	_, _ = c.breaker.Execute(func() (struct{}, error) {
		tried = true
		return struct{}{}, try()
	})
	if tried {
		return 0
	}
	left := time.UnixMilli(c.opened.Load()).Add(Open).Sub(clock.System{}.Now())
	return max(probing, left)
}

// IsOpen reports whether requests wait.
func (c *Circuit) IsOpen() bool { return c.breaker.State() == gobreaker.StateOpen }

// Failures is how many came in a row.
func (c *Circuit) Failures() uint32 { return c.breaker.Counts().ConsecutiveFailures }
