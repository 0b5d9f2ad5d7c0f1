package webhook

import (
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/labplatform/labplatform/pkg/netguard"
)

const (
	breakerFailures = 10
	breakerOpen     = 30 * time.Second
	maxKnownHosts   = 4096
)

// host is what we know about one receiver.
type host struct {
	breaker *gobreaker.CircuitBreaker[*netguard.Response]
	active  int // requests in flight, guarded by hosts.mu
}

// hosts limits and protects receivers: one slow or dead host must not occupy the channel.
type hosts struct {
	limit int

	mu    sync.Mutex // guards known and every active
	known map[string]*host
}

func newHosts(limit int) *hosts { return &hosts{limit: limit, known: map[string]*host{}} }

// enter takes a place at the origin; ok is false when all are taken. leave must be called when ok.
func (h *hosts) enter(origin string) (one *host, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one = h.known[origin]
	if one == nil {
		h.forget()
		one = &host{breaker: gobreaker.NewCircuitBreaker[*netguard.Response](gobreaker.Settings{
			Name: origin, MaxRequests: 1, Timeout: breakerOpen,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		})}
		h.known[origin] = one
	}
	if one.active >= h.limit {
		return nil, false
	}
	one.active++
	return one, true
}

func (h *hosts) leave(one *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.active--
}

// forget drops idle hosts when too many are known; only their failure counts are lost.
func (h *hosts) forget() {
	if len(h.known) < maxKnownHosts {
		return
	}
	for origin, one := range h.known {
		if one.active == 0 {
			delete(h.known, origin)
		}
	}
}
