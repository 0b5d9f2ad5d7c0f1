package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/labplatform/labplatform/pkg/netguard"
)

const (
	breakerFailures = 10
	breakerOpen     = 30 * time.Second
	maxKnownHosts   = 4096
	placePatience   = 200 * time.Millisecond // long for a fast receiver, short for the pool
)

// host is what we know about one receiver.
type host struct {
	breaker *gobreaker.CircuitBreaker[*netguard.Response]
	places  chan struct{} // one per request in flight
	users   int           // deliveries that hold or wait for a place, guarded by hosts.mu
}

// hosts limits and protects receivers: one slow or dead host must not occupy the channel.
type hosts struct {
	limit    int
	patience time.Duration // how long a delivery waits for a place

	mu    sync.Mutex // guards known and every users
	known map[string]*host
}

func newHosts(limit int) *hosts {
	return &hosts{limit: limit, patience: placePatience, known: map[string]*host{}}
}

// enter takes a place at the origin; ok is false when none got free in time. leave must be called when ok.
func (h *hosts) enter(ctx context.Context, origin string) (one *host, ok bool) {
	one = h.use(origin)
	select {
	case one.places <- struct{}{}:
		return one, true
	default:
	}
	timer := time.NewTimer(h.patience)
	defer timer.Stop()
	select {
	case one.places <- struct{}{}:
		return one, true
	case <-timer.C:
	case <-ctx.Done():
	}
	h.drop(one)
	return nil, false
}

func (h *hosts) leave(one *host) {
	<-one.places
	h.drop(one)
}

func (h *hosts) use(origin string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.known[origin]
	if one == nil {
		h.forget()
		one = &host{places: make(chan struct{}, h.limit), breaker: gobreaker.NewCircuitBreaker[*netguard.Response](gobreaker.Settings{
			Name: origin, MaxRequests: 1, Timeout: breakerOpen,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		})}
		h.known[origin] = one
	}
	one.users++
	return one
}

func (h *hosts) drop(one *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.users--
}

// forget drops idle hosts when too many are known; only their failure counts are lost.
func (h *hosts) forget() {
	if len(h.known) < maxKnownHosts {
		return
	}
	for origin, one := range h.known {
		if one.users == 0 {
			delete(h.known, origin)
		}
	}
}
