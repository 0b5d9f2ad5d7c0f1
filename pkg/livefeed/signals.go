package livefeed

import (
	"context"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// SignalTask is the task name of sent signals in metrics and logs.
const SignalTask = "live_signal"

// AfterCommit runs work in the background; see pkg/aftercommit.
type AfterCommit interface {
	Do(ctx context.Context, key int64, name string, work func(context.Context) error)
}

// Signals notifies all replicas of a service that data of a laboratory has changed, so that open pages reload it. A
// signal carries no data; readers read the change from its store. It is safe for concurrent use.
type Signals struct {
	client goredis.UniversalClient
	hub    *Hub
	queue  AfterCommit
	name   string
}

// NewSignals returns signals whose channels start with name, such as notifications_live. The caller must close them
// before client.
func NewSignals(client goredis.UniversalClient, queue AfterCommit, name string) *Signals {
	return &Signals{client, NewHub(client), queue, name}
}

// Close ends the subscription.
func (s *Signals) Close() error { return s.hub.Close() }

func (s *Signals) channel(lab authn.LabScope) string {
	return fmt.Sprintf("%s:{%d}", s.name, lab.LabID())
}

// Changed sends a signal for the laboratory in the background. If the signal is lost, readers see the change at their
// next reload.
func (s *Signals) Changed(ctx context.Context, lab authn.LabScope) {
	s.queue.Do(ctx, lab.LabID(), SignalTask, func(ctx context.Context) error {
		if err := s.client.Publish(ctx, s.channel(lab), "").Err(); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		return nil
	})
}

// Listen returns a channel that receives a value when data of the laboratory may have changed, until stop is called.
// The error is Unavailable.
func (s *Signals) Listen(ctx context.Context, lab authn.LabScope) (signal <-chan struct{}, stop func(), err error) {
	signal, stop, err = s.hub.Listen(ctx, s.channel(lab))
	if err != nil {
		return nil, nil, apperr.New(apperr.Unavailable, "EVENTS_UNAVAILABLE", "Live changes are unavailable; the list still works. Try again in a moment.").
			WithCause(fmt.Errorf("listen to signals: %w", err))
	}
	return signal, stop, nil
}
