package redis

import (
	"context"
	"fmt"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// hub shares one subscription among all readers of a process: a thousand open pages cost one connection to the cache.
type hub struct {
	client goredis.UniversalClient

	mu      sync.Mutex                            // guards what follows
	pubsub  *goredis.PubSub                       // nil until somebody listens
	readers map[string]map[chan struct{}]struct{} // by channel
}

func newHub(client goredis.UniversalClient) *hub {
	return &hub{client: client, readers: map[string]map[chan struct{}]struct{}{}}
}

// join subscribes to the channel for its first reader. The signal holds one value: events are read from the stream.
func (h *hub) join(ctx context.Context, channel string) (chan struct{}, error) {
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
func (h *hub) leave(channel string, signal <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.readers[channel] {
		if (<-chan struct{})(s) == signal {
			delete(h.readers[channel], s)
		}
	}
	if len(h.readers[channel]) == 0 {
		delete(h.readers, channel)
		_ = h.pubsub.Unsubscribe(context.Background(), channel) // the subscription comes back with the next reader
	}
}

// dispatch wakes the readers of a channel for each message, and after every subscription: also after a lost connection,
// during which messages passed unheard.
func (h *hub) dispatch(p *goredis.PubSub) {
	for message := range p.ChannelWithSubscriptions() {
		switch m := message.(type) {
		case *goredis.Message:
			h.wake(m.Channel)
		case *goredis.Subscription:
			h.wake(m.Channel)
		}
	}
}

func (h *hub) wake(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for signal := range h.readers[channel] {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
}

func (h *hub) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pubsub == nil {
		return nil
	}
	return h.pubsub.Close()
}
