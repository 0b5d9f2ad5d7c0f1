// Package served keeps whether the task queue delivers push messages. It has settings of its own for them, and an
// operator may pause them; meanwhile every push waits.
package served

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Interval is the time between two checks. Each is one call.
const Interval = 10 * time.Second

// Reason is why no push message goes out.
type Reason string

// The reasons.
const (
	Off         Reason = "off"          // by this service's own setting
	NoProvider  Reason = "no_provider"  // of the task queue
	ProviderOut Reason = "provider_out" // of the task queue
	Paused      Reason = "paused"       // by an operator of the task queue
)

// Reasons lists all reasons, for metrics.
func Reasons() []Reason { return []Reason{Off, NoProvider, ProviderOut, Paused} }

// note is what /health and the log say, and what to do.
func (r Reason) note() string {
	switch r {
	case "":
		return ""
	case Off:
		return "PUSH_PROVIDER is off: notices of critical results reach no telephone. Set it to fcm; see docs/messages.md"
	case ProviderOut:
		return "the task queue's rows of tq_provider for push are wrong or lack their secret: pushes wait. Run taskqueue providers" +
			" there; see docs/messages.md"
	case Paused:
		return "an operator of the task queue paused the channel push: pushes wait. Resume it on the queue page or with taskqueue" +
			" resume"
	}
	return "the task queue has no provider for push: pushes wait. Add a row to tq_provider; see docs/messages.md"
}

// Queue is the task queue.
type Queue interface {
	// Unserved returns why push messages are not delivered, empty when they are, and the laboratories of which none is
	// because an operator pauses them.
	Unserved(ctx context.Context) (Reason, []int64, error)
}

// Observer shows the state to operators.
type Observer interface {
	PushUnserved(reason Reason)
	// Note shows a text, empty for none, and logs a change.
	Note(text string)
}

// Push is the state. Its methods may be called from several goroutines.
type Push struct {
	queue    Queue
	observer Observer
	waits    atomic.Bool
	held     atomic.Bool             // by an operator: unlike a queue without a provider, a paused one accepts what waits
	paused   atomic.Pointer[[]int64] // laboratories
}

// New returns a Push that takes messages to be delivered until RunOnce finds that they are not.
func New(q Queue, o Observer) *Push {
	p := &Push{queue: q, observer: o}
	p.paused.Store(&[]int64{})
	p.show("")
	return p
}

// Disabled shows that this service's own setting turns pushes off.
func Disabled(o Observer) *Push {
	p := &Push{observer: o}
	p.paused.Store(&[]int64{})
	p.show(Off)
	return p
}

// RunOnce asks the queue. A queue that does not answer leaves the state as it is: its messages wait in the outbox,
// which has metrics and alerts of its own.
func (p *Push) RunOnce(ctx context.Context) error {
	reason, labs, err := p.queue.Unserved(ctx)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	p.waits.Store(reason != "")
	p.held.Store(reason == Paused)
	p.paused.Store(&labs)
	p.show(reason)
	return nil
}

// Waits reports whether push messages wait for the task queue's configuration or operator.
func (p *Push) Waits() bool { return p.waits.Load() }

// Held reports whether push messages wait because an operator pauses the channel.
func (p *Push) Held() bool { return p.held.Load() }

// Paused reports whether push messages of a laboratory wait because an operator pauses the laboratory.
func (p *Push) Paused(lab int64) bool { return slices.Contains(*p.paused.Load(), lab) }

// WaitsFor reports whether push messages of a laboratory wait.
func (p *Push) WaitsFor(lab int64) bool { return p.Waits() || p.Paused(lab) }

func (p *Push) show(reason Reason) {
	p.observer.PushUnserved(reason)
	p.observer.Note(reason.note())
}
