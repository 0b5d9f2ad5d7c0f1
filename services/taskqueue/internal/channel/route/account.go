package route

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// breakerFailures in a row pause a provider.
const breakerFailures = 5

// Outcomes are the values of the outcome label.
func Outcomes() []string {
	return []string{"sent", "retry", "permanent", "elsewhere", "unknown", "postponed", "paused"}
}

// account is a sender with its circuit breaker.
type account struct {
	channel  job.Channel
	name     string
	settings json.RawMessage
	sender   Sender
	observer Observer
	log      *slog.Logger
	pacer    *pace.Pacer
	rate     float64 // deliveries a second; 0: as many as come
	to       job.Destination
	circuits *circuit.Circuits

	intend func(context.Context, worker.Delivery) error
}

func (s *Set) build(c job.Channel, name string, settings json.RawMessage, sender Sender) *account {
	p := &account{channel: c, name: name, settings: settings, sender: sender, observer: s.cfg.Observer, log: s.cfg.Log}
	p.pacer = s.cfg.Pacer
	p.intend = func(ctx context.Context, d worker.Delivery) error { return d.Intend(ctx, name) }
	p.to, p.circuits = job.Via(c, name), s.cfg.Circuits
	p.observer.Configured(c, name)
	return p
}

// judge says what the answer tells of the provider: the message's own faults are none of its. Nothing is said when it
// was not asked, or we hung up ourselves.
func judge(err error) circuit.Verdict {
	f := job.AsFailure(err)
	switch {
	case err == nil:
		return circuit.Verdict{Well: true}
	case f.Postponed || errors.Is(err, context.Canceled):
		return circuit.Verdict{}
	case f.Reason == provider.RateLimited:
		return circuit.Verdict{Asked: f.RetryAfter}
	case f.Permanent && !provider.IsFailOver(err):
		return circuit.Verdict{Well: true}
	}
	return circuit.Verdict{Ill: true}
}

// send tries the provider once, unless it is paused or would get more than its rate.
func (p *account) send(ctx context.Context, d worker.Delivery) (job.Result, error) {
	if err := p.pacer.Pass(ctx, p.channel.String()+":"+p.name, p.rate, d.Body.Flow); err != nil {
		p.observer.Attempt(p.channel, p.name, "postponed")
		return job.Result{}, err
	}
	var result job.Result
	var err error
	wait := p.circuits.Do(ctx, p.to, breakerFailures, func() circuit.Verdict {
		result, err = p.ask(ctx, d)
		return judge(err)
	})
	if wait > 0 {
		p.observer.Attempt(p.channel, p.name, "paused")
		return job.Result{}, job.AwaitRecovery(pausedReason, "The provider keeps failing; messages to it are paused", wait).For(job.ViaAny(p.channel))
	}
	p.observer.Attempt(p.channel, p.name, outcome(err))
	return result, err
}

// pausedReason is that of messages to a provider whose circuit is open.
const pausedReason = "provider_paused"

// ask marks a paid send and begins it.
func (p *account) ask(ctx context.Context, d worker.Delivery) (job.Result, error) {
	if p.sender.Paid() {
		if err := p.intend(ctx, d); err != nil {
			return job.Result{}, err
		}
	}
	return p.try(ctx, d)
}

// try calls the sender; a panic in a paid one leaves doubt, elsewhere it is the worker's business.
func (p *account) try(ctx context.Context, d worker.Delivery) (result job.Result, err error) {
	if !p.sender.Paid() {
		return p.sender.Handle(ctx, d)
	}
	defer func() {
		if cause := recover(); cause != nil {
			p.log.Error("provider panicked", "channel", p.channel.String(), "provider", p.name, "job_id", string(d.ID),
				"stack", string(debug.Stack()))
			result, err = job.Result{Sent: true}, job.Doubt("panic",
				"The delivery failed inside the task queue; the message may have been sent")
		}
	}()
	return p.sender.Handle(ctx, d)
}

func outcome(err error) string {
	f := job.AsFailure(err)
	switch {
	case err == nil:
		return "sent"
	case f.Doubtful:
		return "unknown"
	case f.Postponed:
		return "postponed"
	case provider.IsFailOver(err):
		return "elsewhere"
	case f.Permanent:
		return "permanent"
	default:
		return "retry"
	}
}
