package redisdb

import (
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// SignalTask is the name of the work that sends a signal.
const SignalTask = "live_signal"

// AfterCommit runs work in the background, after commits. See pkg/aftercommit.
type AfterCommit interface {
	Do(ctx context.Context, key int64, name string, work func(context.Context) error)
}

// Signals own the channels on which the replicas of a service tell each other that something of a laboratory changed,
// so that open pages look again. A signal carries nothing: what changed is read from where it is kept. Its methods may
// be called from several goroutines.
type Signals struct {
	client goredis.UniversalClient
	hub    *Hub
	queue  AfterCommit
	name   string
}

// NewSignals returns the signals that are called name, like notifications_live. client stays the caller's to close,
// after Close.
func NewSignals(client goredis.UniversalClient, queue AfterCommit, name string) *Signals {
	return &Signals{client, NewHub(client), queue, name}
}

// Close ends the subscription.
func (s *Signals) Close() error { return s.hub.Close() }

func (s *Signals) channel(lab authn.LabScope) string {
	return fmt.Sprintf("%s:{%d}", s.name, lab.LabID())
}

// Changed wakes the readers of a laboratory in the background. A lost signal delays them until their next look.
func (s *Signals) Changed(ctx context.Context, lab authn.LabScope) {
	s.queue.Do(ctx, lab.LabID(), SignalTask, func(ctx context.Context) error {
		if err := s.client.Publish(ctx, s.channel(lab), "").Err(); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		return nil
	})
}

// Listen returns a channel that gets a value when something of the laboratory may have changed, until stop is called.
func (s *Signals) Listen(ctx context.Context, lab authn.LabScope) (signal <-chan struct{}, stop func(), err error) {
	signal, stop, err = s.hub.Listen(ctx, s.channel(lab))
	if err != nil {
		return nil, nil, apperr.New(apperr.Unavailable, "EVENTS_UNAVAILABLE", "Live changes are away; the list works. Try again in a moment.").
			WithCause(fmt.Errorf("listen to signals: %w", err))
	}
	return signal, stop, nil
}
