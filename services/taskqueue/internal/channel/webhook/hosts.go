package webhook

import (
	"context"
	"strconv"
	"sync"
	"time"
)

const (
	maxKnownHosts = 4096
	placePatience = 200 * time.Millisecond // long for a fast receiver, short for the pool
)

// host is what we know about one receiver as one laboratory uses it.
type host struct {
	places chan struct{} // one per request in flight
	users  int           // deliveries that hold or wait for a place, guarded by hosts.mu
}

// hosts limits requests: one slow host must not occupy the channel, and what one laboratory does at a receiver must not
// keep another from it.
type hosts struct {
	limit    int
	patience time.Duration // how long a delivery waits for a place

	mu    sync.Mutex // guards known and every users
	known map[string]*host
}

func newHosts(limit int) *hosts {
	return &hosts{limit: limit, patience: placePatience, known: map[string]*host{}}
}

// enter takes a place of the laboratory at the origin; ok is false when none got free in time. leave must be called
// when ok.
func (h *hosts) enter(ctx context.Context, lab int64, origin string) (one *host, ok bool) {
	one = h.use(strconv.FormatInt(lab, 10) + " " + origin)
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

func (h *hosts) use(key string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.known[key]
	if one == nil {
		h.forget()
		one = &host{places: make(chan struct{}, h.limit)}
		h.known[key] = one
	}
	one.users++
	return one
}

func (h *hosts) drop(one *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.users--
}

// forget drops idle hosts when too many are known.
func (h *hosts) forget() {
	if len(h.known) < maxKnownHosts {
		return
	}
	for key, one := range h.known {
		if one.users == 0 {
			delete(h.known, key)
		}
	}
}
