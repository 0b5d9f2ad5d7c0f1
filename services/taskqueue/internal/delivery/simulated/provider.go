// Package simulated is the provider named outbox, the default for every channel without rows. It renders each message
// as a real provider would receive it (MIME text, SMS segments, FCM and WhatsApp JSON) and stores it in the mailbox; no
// message leaves the installation. Special recipients simulate failures.
package simulated

import (
	"context"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Sink stores rendered messages.
type Sink interface {
	Add(ctx context.Context, list ...mailbox.Message) error
}

// Provider renders the messages of all channels. It is safe for concurrent use.
type Provider struct {
	sink  Sink
	clock clock.Clock
}

// New returns a provider that stores messages in sink.
func New(sink Sink, clk clock.Clock) *Provider { return &Provider{sink: sink, clock: clk} }

// Paid returns false: no message leaves the installation.
func (p *Provider) Paid() bool { return false }

// Handle renders one message. The job is finished once the mailbox has stored the message.
func (p *Provider) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	m, err := render(d, p.clock.Now())
	if err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	failure := simulate(ctx, m.To)
	if err := p.sink.Add(ctx, m.Of(d, p.clock.Now(), failure)); err != nil {
		return job.Result{}, job.Retryable("outbox", "The mailbox did not take the message").WithCause(err)
	}
	if failure != nil {
		return job.Result{}, failure
	}
	return job.Result{MessageID: "outbox-" + string(d.ID), Sent: true}, nil
}

// slowSend is the duration of a send to a slow special recipient.
const slowSend = 5 * time.Second

// simulate returns the failure of a special recipient: phone numbers of zeros and a last digit (1 temporary, 2
// permanent, 3 slow, 4 unknown), or e-mail addresses <word>@outbox.invalid. Other recipients succeed.
func simulate(ctx context.Context, to []string) error {
	for _, one := range to {
		switch magic(one) {
		case "temporary":
			return job.Retryable("simulated", "Simulated temporary failure")
		case "permanent":
			return job.Permanent("simulated", "Simulated permanent failure")
		case "unknown":
			return job.Doubt("simulated", "Simulated failure after the message may have been sent")
		case "slow":
			select {
			case <-time.After(slowSend):
			case <-ctx.Done():
				return job.Retryable("simulated", "Simulated slow provider was interrupted")
			}
		}
	}
	return nil
}

func magic(recipient string) string {
	if word, ok := strings.CutSuffix(recipient, "@outbox.invalid"); ok {
		return word
	}
	digits := strings.TrimPrefix(recipient, "+")
	rest := strings.TrimLeft(digits, "0")
	if len(digits) < 6 || len(rest) != 1 {
		return ""
	}
	return map[string]string{"1": "temporary", "2": "permanent", "3": "slow", "4": "unknown"}[rest]
}
