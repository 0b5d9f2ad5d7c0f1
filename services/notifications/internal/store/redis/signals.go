// Package redis owns the channels on which the replicas of the service tell each other that an inbox changed. A signal
// carries nothing: what changed is read from the relational database.
package redis

import (
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/redisdb"
)

// Task is the name of the work that sends a signal.
const Task = "live_signal"

// Queue runs work in the background, after commits. See pkg/aftercommit.
type Queue interface {
	Do(ctx context.Context, key int64, name string, work func(context.Context) error)
}

// Signals implements live.Signals, notify.Signals and inbox.Signals.
type Signals struct {
	client goredis.UniversalClient
	hub    *redisdb.Hub
	queue  Queue
}

// New returns the signals of client, which stays the caller's to close, after Close.
func New(client goredis.UniversalClient, queue Queue) *Signals {
	return &Signals{client, redisdb.NewHub(client), queue}
}

// Close ends the subscription.
func (s *Signals) Close() error { return s.hub.Close() }

func channel(lab authn.LabScope) string { return fmt.Sprintf("notifications_live:{%d}", lab.LabID()) }

// Changed wakes the readers of a laboratory in the background. A lost signal delays them until their next look.
func (s *Signals) Changed(ctx context.Context, lab authn.LabScope) {
	s.queue.Do(ctx, lab.LabID(), Task, func(ctx context.Context) error {
		if err := s.client.Publish(ctx, channel(lab), "").Err(); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		return nil
	})
}

// Listen implements live.Signals.
func (s *Signals) Listen(ctx context.Context, lab authn.LabScope) (signal <-chan struct{}, stop func(), err error) {
	signal, stop, err = s.hub.Listen(ctx, channel(lab))
	if err != nil {
		return nil, nil, apperr.New(apperr.Unavailable, "EVENTS_UNAVAILABLE", "Live notifications are away; the list works. Try again in a moment.").
			WithCause(fmt.Errorf("listen to signals: %w", err))
	}
	return signal, stop, nil
}
