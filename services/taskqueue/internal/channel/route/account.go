package route

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// breakerFailures is the number of consecutive failures after which a provider is paused.
const breakerFailures = 5

// Outcomes returns the values of the outcome label.
func Outcomes() []string { return append(provider.Outcomes(), "paused") }

// account is a sender with its circuit breaker and rate limit.
type account struct {
	*Config
	channel  job.Channel
	name     string
	settings json.RawMessage
	sender   Sender
	rate     float64 // deliveries per second; 0: no limit
	to       job.Destination

	intend func(d worker.Delivery, ctx context.Context, provider string) error
}

// judge returns what the result of a send shows about the provider. Errors of the message itself are not failures of
// the provider; if there was a response with a status, they show that it works. There is no conclusion if the provider
// was not called, or if ctx was cancelled. A sender may also cancel its own call after a limit, which is a failure of
// the provider.
func judge(ctx context.Context, status int, err error) circuit.Verdict {
	f := job.AsFailure(err)
	switch {
	case err == nil:
		return circuit.Verdict{Well: true}
	case errors.Is(ctx.Err(), context.Canceled):
		return circuit.Verdict{}
	case f.OfMessage:
		return circuit.Verdict{Well: status > 0}
	case f.Reason == provider.RateLimited:
		return circuit.Verdict{Asked: f.RetryAfter}
	case f.Postponed:
		return circuit.Verdict{}
	case f.Permanent && !f.Elsewhere:
		return circuit.Verdict{Well: true}
	}
	return circuit.Verdict{Ill: true}
}

// send makes one send through the provider, unless the provider is paused or its rate limit is reached.
func (p *account) send(ctx context.Context, d worker.Delivery) (result job.Result, err error) {
	if err := p.Pacer.Pass(ctx, p.channel.String()+":"+p.name, p.rate, d.Body.Flow); err != nil {
		p.Observer.Attempt(p.channel, p.name, provider.Outcome(err))
		return result, err
	}
	wait := p.Circuits.Do(ctx, p.to, breakerFailures, func() circuit.Verdict {
		result, err = p.ask(ctx, d)
		return judge(ctx, result.HTTPStatus, err)
	})
	if wait > 0 {
		p.Observer.Attempt(p.channel, p.name, "paused")
		return result, job.AwaitRecovery("provider_paused", "The provider keeps failing; messages to it are paused", wait).
			For(job.ViaAny(p.channel))
	}
	p.Observer.Attempt(p.channel, p.name, provider.Outcome(err))
	return result, err
}

// ask calls the provider. A paid send is marked as begun before, and a panic in it makes the outcome unknown. Other
// panics are left to the worker.
func (p *account) ask(ctx context.Context, d worker.Delivery) (result job.Result, err error) {
	if !p.sender.Paid() {
		return p.sender.Handle(ctx, d)
	}
	if err := p.intend(d, ctx, p.name); err != nil {
		return result, err
	}
	defer func() {
		if cause := recover(); cause != nil {
			p.Log.Error("provider panicked", "channel", p.channel.String(), "provider", p.name, "job_id", string(d.ID),
				"stack", string(debug.Stack()))
			result, err = job.Result{Sent: true}, job.Doubt("panic",
				"The delivery failed inside the task queue; the message may have been sent")
		}
	}()
	return p.sender.Handle(ctx, d)
}
