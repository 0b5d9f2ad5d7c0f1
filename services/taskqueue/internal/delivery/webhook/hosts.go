package webhook

import (
	"context"
	"strconv"
	"sync"
	"time"
)

const placePatience = 200 * time.Millisecond // long for a fast receiver, short for the pool

// host is one receiver as one laboratory uses it, while there are deliveries.
type host struct {
	places chan struct{} // one per request in flight
	users  int           // deliveries that hold or wait for a place, guarded by hosts.mu
}

// hosts limits requests: one slow host must not occupy the channel, and what one laboratory does at a receiver must not
// keep another from it.
type hosts struct {
	limit    int
	patience time.Duration // how long a delivery waits for a place

	mu   sync.Mutex // guards busy and every users
	busy map[string]*host
}

func newHosts(limit int) *hosts {
	return &hosts{limit: limit, patience: placePatience, busy: map[string]*host{}}
}

// enter takes a place of the laboratory at the origin, which leave gives back; nil when none got free in time.
func (h *hosts) enter(ctx context.Context, lab int64, origin string) (leave func()) {
	key := strconv.FormatInt(lab, 10) + " " + origin
	one := h.use(key)
	ctx, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	select {
	case one.places <- struct{}{}:
		return func() { <-one.places; h.drop(key) }
	case <-ctx.Done():
		h.drop(key)
		return nil
	}
}

func (h *hosts) use(key string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.busy[key]
	if one == nil {
		one = &host{places: make(chan struct{}, h.limit)}
		h.busy[key] = one
	}
	one.users++
	return one
}

// drop forgets a host that no one uses.
func (h *hosts) drop(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.busy[key]; one.users > 1 {
		one.users--
		return
	}
	delete(h.busy, key)
}
