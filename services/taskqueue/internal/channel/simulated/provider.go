package simulated

import (
	"context"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mailbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Name is the provider's name in config.provider.
const Name = "outbox"

// Sink keeps rendered messages.
type Sink interface {
	Add(ctx context.Context, list ...mailbox.Message) error
}

// Provider renders the messages of all channels. Safe for concurrent use.
type Provider struct {
	sink  Sink
	clock clock.Clock
}

// New makes a provider.
func New(sink Sink, clk clock.Clock) *Provider { return &Provider{sink: sink, clock: clk} }

// Paid is false: nothing leaves the house.
func (p *Provider) Paid() bool { return false }

// slowSend is how long the magic recipient "slow" takes.
const slowSend = 5 * time.Second

// Handle renders one message; the job finishes when the mailbox has it.
func (p *Provider) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	m, err := render(d, p.clock.Now())
	if err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	m.JobID, m.Channel, m.Attempt, m.LabID = string(d.ID), d.ID.Lane().Channel.String(), d.Attempt, d.Body.LabID
	m.Kind, m.AtMs, m.Outcome = task.Name(d.Body.Task, d.Body.TaskType), p.clock.Now().UnixMilli(), "delivered"
	failure := simulate(ctx, m.To)
	if failure != nil {
		m.Outcome = failure.Message
	}
	if err := p.sink.Add(ctx, m); err != nil {
		return job.Result{}, job.Retryable("outbox", "The mailbox did not take the message").WithCause(err)
	}
	if failure != nil {
		return job.Result{}, failure
	}
	return job.Result{MessageID: "outbox-" + string(d.ID), Sent: true}, nil
}

func render(d worker.Delivery, now time.Time) (mailbox.Message, error) {
	switch d.ID.Lane().Channel {
	case job.SMS:
		return renderSMS(d.Body.Data)
	case job.Email:
		return renderEmail(d.ID, d.Body.Data, now)
	case job.Push:
		return renderPush(d.Body.Data)
	default:
		return renderWhatsApp(d.ID, d.Body.Data)
	}
}

// simulate makes the magic recipients fail: telephone numbers of zeros and a last digit, 1 temporary, 2
// permanent, 3 slow, 4 unknown; e-mail addresses <word>@outbox.invalid.
func simulate(ctx context.Context, to []string) *job.Failure {
	for _, one := range to {
		switch magic(one) {
		case "temporary":
			return job.Retryable("simulated", "Simulated temporary failure")
		case "permanent":
			return job.Permanent("simulated", "Simulated permanent failure")
		case "unknown":
			return job.Doubt("simulated", "Simulated failure after the message may have been sent")
		case "slow":
			timer := time.NewTimer(slowSend)
			defer timer.Stop()
			select {
			case <-timer.C:
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
	if len(digits) < 6 || strings.Trim(digits[:len(digits)-1], "0") != "" {
		return ""
	}
	return map[byte]string{'1': "temporary", '2': "permanent", '3': "slow", '4': "unknown"}[digits[len(digits)-1]]
}
