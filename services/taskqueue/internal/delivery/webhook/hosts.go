package webhook

import (
	"context"
	"strconv"
	"sync"
	"time"
)

const placePatience = 200 * time.Millisecond // long for a fast receiver, but short for a worker's slot

// host counts the requests of one laboratory to one receiver, while there are any.
type host struct {
	places chan struct{} // capacity: requests in flight
	users  int           // deliveries that hold or wait for a slot; guarded by hosts.mu
}

// hosts limits the concurrent requests of each laboratory to each receiver, so that a slow receiver does not occupy the
// channel, and one laboratory does not keep another from a receiver.
type hosts struct {
	limit    int
	patience time.Duration // how long a delivery waits for a slot

	mu   sync.Mutex // guards busy and every users
	busy map[string]*host
}

func newHosts(limit int) *hosts {
	return &hosts{limit: limit, patience: placePatience, busy: map[string]*host{}}
}

// enter takes a slot of the laboratory at the origin; leave returns it. leave is nil when no slot was free in time.
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

// drop ends one use of a host and deletes a host without users.
func (h *hosts) drop(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.busy[key]; one.users > 1 {
		one.users--
		return
	}
	delete(h.busy, key)
}
