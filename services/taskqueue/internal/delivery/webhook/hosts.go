package webhook

import (
	"context"
	"strconv"
	"sync"
	"time"
)

const placePatience = 200 * time.Millisecond // long for a fast receiver, but short for a worker's slot

// host counts one laboratory's requests to one receiver. It exists while there are any.
type host struct {
	places chan struct{} // capacity: requests in flight
	users  int           // deliveries that occupy or wait for a slot; guarded by hosts.mu
}

// hosts limits the concurrent requests of each laboratory to each receiver. A slow receiver cannot occupy the channel,
// and laboratories do not block each other at a receiver.
type hosts struct {
	limit    int
	patience time.Duration // how long a delivery waits for a slot

	mu   sync.Mutex // guards busy and all users
	busy map[string]*host
}

func newHosts(limit int) *hosts {
	return &hosts{limit: limit, patience: placePatience, busy: map[string]*host{}}
}

// enter takes a slot of the laboratory at the origin; leave returns it. leave is nil if no slot became free in time.
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

// drop ends one use of a host, and deletes the host if it has no users.
func (h *hosts) drop(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.busy[key]; one.users > 1 {
		one.users--
		return
	}
	delete(h.busy, key)
}
