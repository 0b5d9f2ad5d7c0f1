// Package topics subscribes device tokens at the push provider, Firebase Cloud Messaging.
package topics

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/labplatform/labplatform/pkg/fcm"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
)

const (
	parallel = 8 // concurrent calls per subscription
	// AnswerBytes is the maximum size of a response of the provider.
	AnswerBytes = 64 << 10
)

// Provider subscribes tokens at the push provider. Its methods may be called from several goroutines.
type Provider struct{ topics *fcm.Topics }

var _ device.Topics = (*Provider)(nil)

// New returns a provider that uses the topic management of FCM.
func New(topics *fcm.Topics) *Provider { return &Provider{topics} }

type call func(ctx context.Context, topic string, tokens []string) ([]*fcm.Error, error)

func (p *Provider) Subscribe(ctx context.Context, token string, topics []string) (failed []string, err error) {
	return each(ctx, token, topics, p.topics.Add)
}

func (p *Provider) Unsubscribe(ctx context.Context, token string, topics []string) (failed []string, err error) {
	return each(ctx, token, topics, p.topics.Remove)
}

// each makes one call per topic, because a call names one topic and many tokens. It returns an error if the provider
// does not know the token or every topic failed.
func each(ctx context.Context, token string, topics []string, do call) (failed []string, err error) {
	errs := make([]error, len(topics))
	slots := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i, topic := range topics {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = one(ctx, token, topic, do)
		})
	}
	all.Wait()
	for i, failure := range errs {
		if errors.Is(failure, device.ErrUnknownToken) {
			return nil, failure
		}
		if failure != nil {
			failed, err = append(failed, topics[i]), failure
		}
	}
	if len(failed) == len(topics) {
		return nil, err
	}
	return failed, nil
}

func one(ctx context.Context, token, topic string, do call) error {
	results, err := do(ctx, topic, []string{token})
	switch {
	case err != nil:
		return fmt.Errorf("topic: %w", bare(err))
	case results[0] == nil:
		return nil
	case results[0].Class == fcm.DeadToken:
		return fmt.Errorf("%w: %w", device.ErrUnknownToken, results[0])
	default:
		return results[0]
	}
}

// bare removes the address from a transport error.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
