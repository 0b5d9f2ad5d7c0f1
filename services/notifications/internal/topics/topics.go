// Package topics owns the subscriptions of device tokens at the push provider, Firebase Cloud Messaging.
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
	parallel = 8 // calls of one subscription at the same time
	// AnswerBytes is how much of an answer the provider's client must read.
	AnswerBytes = 64 << 10
)

// Provider implements device.Topics. Safe for concurrent use.
type Provider struct{ topics *fcm.Topics }

var _ device.Topics = (*Provider)(nil)

// New returns a provider over the management of topics.
func New(topics *fcm.Topics) *Provider { return &Provider{topics} }

type call func(ctx context.Context, topic string, tokens []string) ([]*fcm.Error, error)

func (p *Provider) Subscribe(ctx context.Context, token string, topics []string) (failed []string, err error) {
	return each(ctx, token, topics, p.topics.Add)
}

func (p *Provider) Unsubscribe(ctx context.Context, token string, topics []string) (failed []string, err error) {
	return each(ctx, token, topics, p.topics.Remove)
}

// each makes one call a topic, because a call names one topic and many tokens. It fails when the token is dead or no
// topic came through.
func each(ctx context.Context, token string, topics []string, do call) (failed []string, err error) {
	fates := make([]error, len(topics))
	places := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i, topic := range topics {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			fates[i] = one(ctx, token, topic, do)
		})
	}
	all.Wait()
	for i, fate := range fates {
		if errors.Is(fate, device.ErrUnknownToken) {
			return nil, fate
		}
		if fate != nil {
			failed, err = append(failed, topics[i]), fate
		}
	}
	if len(failed) == len(topics) {
		return nil, err
	}
	return failed, nil
}

func one(ctx context.Context, token, topic string, do call) error {
	fates, err := do(ctx, topic, []string{token})
	switch {
	case err != nil:
		return fmt.Errorf("topic: %w", bare(err))
	case fates[0] == nil:
		return nil
	case fates[0].Class == fcm.DeadToken:
		return fmt.Errorf("%w: %w", device.ErrUnknownToken, fates[0])
	default:
		return fates[0]
	}
}

// bare takes the address out of a transport error.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
