// Package redis keeps the real-time channels of reports: a stream with a report's latest events, from which a
// reconnected reader catches up, and a publish/subscribe channel that sends each event to the current listeners.
package redis

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

//go:embed append.lua
var appendScript string

const (
	keptEvents = 200
	keptFor    = 24 * time.Hour
)

// Channels stores and distributes the events of reports.
type Channels struct {
	client goredis.UniversalClient
	script *goredis.Script
	hub    *livefeed.Hub
}

var _ watch.Log = (*Channels)(nil)

// New returns channels over client, which the caller closes after calling Close.
func New(client goredis.UniversalClient) *Channels {
	return &Channels{client: client, script: goredis.NewScript(appendScript), hub: livefeed.NewHub(client)}
}

// Close ends the subscription. It does not close the client.
func (c *Channels) Close() error { return c.hub.Close() }

// key returns the Redis key of a channel's stream.
func key(channel string) string { return "external_edit_log:{" + channel + "}" }

func (c *Channels) Append(ctx context.Context, channel string, e watch.Entry) error {
	err := c.script.Run(ctx, c.client, []string{key(channel)}, e.ID, e.Event, e.Data, keptEvents, int(keptFor.Seconds()),
		channel).Err()
	return wrap("append event", err)
}

func (c *Channels) Last(ctx context.Context, channel string) (string, error) {
	newest, err := c.client.XRevRangeN(ctx, key(channel), "+", "-", 1).Result()
	if err != nil || len(newest) == 0 {
		return watch.Start, wrap("read events", err)
	}
	return newest[0].ID, nil
}

func (c *Channels) After(ctx context.Context, channel, id string, limit int) ([]watch.Entry, error) {
	found, err := c.client.XRangeN(ctx, key(channel), "("+id, "+", int64(limit)).Result()
	if err != nil {
		return nil, wrap("read events", err)
	}
	entries := make([]watch.Entry, len(found))
	for i, m := range found {
		event, _ := m.Values["event"].(string)
		data, _ := m.Values["data"].(string)
		entries[i] = watch.Entry{ID: m.ID, Event: event, Data: data}
	}
	return entries, nil
}

func (c *Channels) Listen(ctx context.Context, channel string) (<-chan struct{}, func(), error) {
	signal, stop, err := c.hub.Listen(ctx, channel)
	return signal, stop, wrap("listen to events", err)
}

func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return apperr.New(apperr.Unavailable, "EVENTS_UNAVAILABLE", "Events cannot be read right now. Try again in a moment.").
		WithCause(fmt.Errorf("%s: %w", operation, err))
}
