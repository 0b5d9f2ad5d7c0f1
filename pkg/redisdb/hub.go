package redisdb

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Hub shares one subscription among all readers of a process: a thousand open pages cost one connection to the cache.
// Its methods may be called from several goroutines.
type Hub struct {
	client redis.UniversalClient

	mu      sync.Mutex                            // guards what follows
	pubsub  *redis.PubSub                         // nil until somebody listens
	readers map[string]map[chan struct{}]struct{} // by channel
}

// NewHub returns a hub over client, which stays the caller's to close, after Close. It connects with the first reader.
func NewHub(client redis.UniversalClient) *Hub {
	return &Hub{client: client, readers: map[string]map[chan struct{}]struct{}{}}
}

// Listen returns a signal that gets a value when a message may have come on the channel, until stop is called. The
// signal holds one value and no message: what happened is read from where it is kept.
func (h *Hub) Listen(ctx context.Context, channel string) (signal <-chan struct{}, stop func(), err error) {
	joined, err := h.join(ctx, channel)
	if err != nil {
		return nil, nil, err
	}
	return joined, func() { h.leave(channel, joined) }, nil
}

// join subscribes to the channel for its first reader.
func (h *Hub) join(ctx context.Context, channel string) (chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pubsub == nil {
		h.pubsub = h.client.Subscribe(context.WithoutCancel(ctx))
		go h.dispatch(h.pubsub)
	}
	if len(h.readers[channel]) == 0 {
		if err := h.pubsub.Subscribe(context.WithoutCancel(ctx), channel); err != nil {
			return nil, fmt.Errorf("subscribe: %w", err)
		}
		h.readers[channel] = map[chan struct{}]struct{}{}
	}
	signal := make(chan struct{}, 1)
	h.readers[channel][signal] = struct{}{}
	return signal, nil
}

// leave unsubscribes from a channel that nobody reads any more.
func (h *Hub) leave(channel string, signal chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.readers[channel][signal]; !ok {
		return
	}
	delete(h.readers[channel], signal)
	if len(h.readers[channel]) == 0 {
		delete(h.readers, channel)
		_ = h.pubsub.Unsubscribe(context.Background(), channel) // the subscription comes back with the next reader
	}
}

// dispatch wakes the readers of a channel for each message, and after every subscription: also after a lost connection,
// during which messages passed unheard.
func (h *Hub) dispatch(p *redis.PubSub) {
	for message := range p.ChannelWithSubscriptions() {
		switch m := message.(type) {
		case *redis.Message:
			h.wake(m.Channel)
		case *redis.Subscription:
			h.wake(m.Channel)
		}
	}
}

func (h *Hub) wake(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for signal := range h.readers[channel] {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
}

// Close ends the subscription.
func (h *Hub) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pubsub == nil {
		return nil
	}
	return h.pubsub.Close()
}
