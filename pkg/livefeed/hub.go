package livefeed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// listenWithin is the time in which the cache must confirm a subscription.
const listenWithin = 2 * time.Second

// Hub shares one subscription among all readers of a process, so that a thousand open pages use one connection to the
// cache. It is safe for concurrent use; no method waits for the network while it holds the lock.
type Hub struct {
	client redis.UniversalClient

	mu             sync.Mutex          // guards the fields below
	pubsub         *redis.PubSub       // nil before the first Listen and after Close
	channels       map[string]*channel // those with readers
	changed        map[string]struct{} // channels to subscribe or unsubscribe
	changesPending chan struct{}       // has a value while changed is not empty; closed by Close
}

type channel struct {
	readers   map[chan struct{}]struct{}
	confirmed chan struct{} // closed once the cache has confirmed the subscription
}

// NewHub returns a hub that uses client. The caller must close the hub before client. The hub connects with the first
// Listen.
func NewHub(client redis.UniversalClient) *Hub {
	return &Hub{client: client, channels: map[string]*channel{}, changed: map[string]struct{}{}}
}

// Listen returns a channel that receives a value when a message may have been published under name, until stop is
// called. The channel holds one value and no message; the reader reads the change from its store. Listen fails if the
// cache does not confirm the subscription within two seconds.
func (h *Hub) Listen(ctx context.Context, name string) (signal <-chan struct{}, stop func(), err error) {
	joined, confirmed := h.join(name)
	stop = func() { h.leave(name, joined) }
	timer := time.NewTimer(listenWithin)
	defer timer.Stop()
	select {
	case <-confirmed:
		return joined, stop, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = fmt.Errorf("the cache did not respond within %v", listenWithin)
	}
	stop()
	return nil, nil, fmt.Errorf("subscribe: %w", err)
}

func (h *Hub) join(name string) (signal, confirmed chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pubsub == nil {
		h.pubsub = h.client.Subscribe(context.Background())
		h.changesPending = make(chan struct{}, 1)
		go h.dispatch(h.pubsub)
		go h.subscribe(h.pubsub, h.changesPending)
	}
	c := h.channels[name]
	if c == nil {
		c = &channel{readers: map[chan struct{}]struct{}{}, confirmed: make(chan struct{})}
		h.channels[name] = c
		h.markChanged(name)
	}
	signal = make(chan struct{}, 1)
	c.readers[signal] = struct{}{}
	return signal, c.confirmed
}

// leave removes a reader. Without readers the channel is unsubscribed.
func (h *Hub) leave(name string, signal chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.channels[name]
	if c == nil {
		return
	}
	delete(c.readers, signal)
	if len(c.readers) == 0 {
		delete(h.channels, name)
		h.markChanged(name)
	}
}

// markChanged schedules a channel for subscribe. The caller must hold h.mu.
func (h *Hub) markChanged(name string) {
	if h.pubsub == nil {
		return
	}
	h.changed[name] = struct{}{}
	select {
	case h.changesPending <- struct{}{}:
	default:
	}
}

// subscribe subscribes and unsubscribes the changed channels, one call at a time, so that the last call reflects the
// current readers.
func (h *Hub) subscribe(p *redis.PubSub, wake <-chan struct{}) {
	for range wake {
		for name, read := range h.changes() {
			ctx, cancel := context.WithTimeout(context.Background(), listenWithin)
			if read {
				_ = p.Subscribe(ctx, name) // after a failure the client subscribes again when it reconnects
			} else {
				_ = p.Unsubscribe(ctx, name)
			}
			cancel()
		}
	}
}

// changes returns the changed channels, with whether each has readers, and clears the set.
func (h *Hub) changes() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	read := make(map[string]bool, len(h.changed))
	for name := range h.changed {
		read[name] = h.channels[name] != nil
	}
	clear(h.changed)
	return read
}

// dispatch notifies the readers of a channel of each message and of every subscription. The latter also happens after a
// lost connection, during which messages may have been missed.
func (h *Hub) dispatch(p *redis.PubSub) {
	for message := range p.ChannelWithSubscriptions() {
		switch m := message.(type) {
		case *redis.Message:
			h.notify(m.Channel, false)
		case *redis.Subscription:
			h.notify(m.Channel, m.Kind == "subscribe")
		}
	}
}

func (h *Hub) notify(name string, confirmed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.channels[name]
	if c == nil {
		return
	}
	if confirmed {
		c.confirm()
	}
	for signal := range c.readers {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
}

func (c *channel) confirm() {
	select {
	case <-c.confirmed:
	default:
		close(c.confirmed)
	}
}

// Close ends the subscription and its goroutines.
func (h *Hub) Close() error {
	h.mu.Lock()
	p := h.pubsub
	h.pubsub = nil
	if p != nil {
		close(h.changesPending)
	}
	h.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.Close()
}
