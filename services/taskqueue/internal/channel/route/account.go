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

// breakerFailures in a row pause a provider.
const breakerFailures = 5

// Outcomes are the values of the outcome label.
func Outcomes() []string { return append(provider.Outcomes(), "paused") }

// account is a sender that is paused when it fails, and gets no more than its rate.
type account struct {
	*Config
	channel  job.Channel
	name     string
	settings json.RawMessage
	sender   Sender
	rate     float64 // deliveries a second; 0: as many as come
	to       job.Destination

	intend func(d worker.Delivery, ctx context.Context, provider string) error
}

// judge returns what the answer shows about the provider: the message's own faults are none of its. Nothing is said
// when it was not asked, or we hung up ourselves.
func judge(err error) circuit.Verdict {
	f := job.AsFailure(err)
	switch {
	case err == nil:
		return circuit.Verdict{Well: true}
	case f.Postponed, f.OfMessage, errors.Is(err, context.Canceled):
		return circuit.Verdict{}
	case f.Reason == provider.RateLimited:
		return circuit.Verdict{Asked: f.RetryAfter}
	case f.Permanent && !f.Elsewhere:
		return circuit.Verdict{Well: true}
	}
	return circuit.Verdict{Ill: true}
}

// send tries the provider once, unless it is paused or would get more than its rate.
func (p *account) send(ctx context.Context, d worker.Delivery) (result job.Result, err error) {
	if err := p.Pacer.Pass(ctx, p.channel.String()+":"+p.name, p.rate, d.Body.Flow); err != nil {
		p.Observer.Attempt(p.channel, p.name, provider.Outcome(err))
		return result, err
	}
	wait := p.Circuits.Do(ctx, p.to, breakerFailures, func() circuit.Verdict {
		result, err = p.ask(ctx, d)
		return judge(err)
	})
	if wait > 0 {
		p.Observer.Attempt(p.channel, p.name, "paused")
		return result, job.AwaitRecovery("provider_paused", "The provider keeps failing; messages to it are paused", wait).
			For(job.ViaAny(p.channel))
	}
	p.Observer.Attempt(p.channel, p.name, provider.Outcome(err))
	return result, err
}

// ask begins a send. One that is paid is marked before, and a panic in it leaves doubt; elsewhere a panic is the
// worker's business.
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
