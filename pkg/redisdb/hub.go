package redisdb

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// listenWithin is how long a reader waits until the cache has confirmed the subscription.
const listenWithin = 2 * time.Second

// Hub shares one subscription among all readers of a process: a thousand open pages cost one connection to the cache.
// Its methods may be called from several goroutines. None waits for the network while it holds the lock.
type Hub struct {
	client redis.UniversalClient

	mu       sync.Mutex          // guards what follows
	pubsub   *redis.PubSub       // nil until someone listens, and after Close
	channels map[string]*channel // that are read
	changed  map[string]struct{} // channels of which the cache has to be told
	tell     chan struct{}       // has a value while changed is not empty; closed by Close
}

// channel is one that someone reads.
type channel struct {
	readers   map[chan struct{}]struct{}
	confirmed chan struct{} // closed once the cache knows of the channel
}

// NewHub returns a hub over client, which stays the caller's to close, after Close. It connects with the first reader.
func NewHub(client redis.UniversalClient) *Hub {
	return &Hub{client: client, channels: map[string]*channel{}, changed: map[string]struct{}{}}
}

// Listen returns a signal that gets a value when a message may have come on the channel, until stop is called. The
// signal holds one value and no message: what happened is read from where it is kept. It fails when the cache does not
// answer within two seconds.
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
		err = fmt.Errorf("the cache did not answer within %v", listenWithin)
	}
	stop()
	return nil, nil, fmt.Errorf("subscribe: %w", err)
}

func (h *Hub) join(name string) (signal, confirmed chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pubsub == nil {
		h.pubsub = h.client.Subscribe(context.Background())
		h.tell = make(chan struct{}, 1)
		go h.dispatch(h.pubsub)
		go h.subscribe(h.pubsub, h.tell)
	}
	c := h.channels[name]
	if c == nil {
		c = &channel{readers: map[chan struct{}]struct{}{}, confirmed: make(chan struct{})}
		h.channels[name] = c
		h.change(name)
	}
	signal = make(chan struct{}, 1)
	c.readers[signal] = struct{}{}
	return signal, c.confirmed
}

// leave forgets a channel that no one reads any more.
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
		h.change(name)
	}
}

// change has the cache told of a channel; it needs h.mu.
func (h *Hub) change(name string) {
	if h.pubsub == nil {
		return
	}
	h.changed[name] = struct{}{}
	select {
	case h.tell <- struct{}{}:
	default:
	}
}

// subscribe tells the cache which channels are read, one change after the other: what it hears last is how things are.
func (h *Hub) subscribe(p *redis.PubSub, tell <-chan struct{}) {
	for range tell {
		for name, read := range h.changes() {
			ctx, cancel := context.WithTimeout(context.Background(), listenWithin)
			if read {
				_ = p.Subscribe(ctx, name) // when it fails, the client subscribes with its next connection
			} else {
				_ = p.Unsubscribe(ctx, name)
			}
			cancel()
		}
	}
}

// changes returns which channels changed, and whether they are read now.
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

// dispatch wakes the readers of a channel for each message, and after every subscription: also after a lost connection,
// during which messages passed unheard.
func (h *Hub) dispatch(p *redis.PubSub) {
	for message := range p.ChannelWithSubscriptions() {
		switch m := message.(type) {
		case *redis.Message:
			h.wake(m.Channel, false)
		case *redis.Subscription:
			h.wake(m.Channel, m.Kind == "subscribe")
		}
	}
}

func (h *Hub) wake(name string, confirmed bool) {
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

// Close ends the subscription.
func (h *Hub) Close() error {
	h.mu.Lock()
	p := h.pubsub
	h.pubsub = nil
	if p != nil {
		close(h.tell)
	}
	h.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.Close()
}
