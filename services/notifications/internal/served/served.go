// Package served tracks whether the task queue delivers push messages. The task queue has its own settings for them,
// and its operators may pause them. Until it delivers them, every push message waits.
package served

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Interval is the time between two checks. A check is one call.
const Interval = 3 * time.Second

// Reason is the reason why no push message is delivered.
type Reason string

// Reasons, as metrics name them.
const (
	Off         Reason = "off"          // setting of this service
	NoProvider  Reason = "no_provider"  // the task queue has no provider for push
	ProviderOut Reason = "provider_out" // the task queue's provider is misconfigured
	Paused      Reason = "paused"       // an operator of the task queue paused push messages
)

// Reasons returns all reasons, for metrics.
func Reasons() []Reason { return []Reason{Off, NoProvider, ProviderOut, Paused} }

// note returns the text for /health and the log, with what to do; "" if push messages are delivered.
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
	// Unserved returns why push messages are not delivered, "" if they are, and the laboratories whose messages an
	// operator has paused.
	Unserved(ctx context.Context) (Reason, []int64, error)
}

// Observer shows the state to operators.
type Observer interface {
	PushUnserved(reason Reason)
	// Note shows a text on /health, or none if it is empty, and logs a change.
	Note(text string)
}

// Push is the state of the delivery. Its methods may be called from several goroutines.
type Push struct {
	queue    Queue
	observer Observer
	waits    atomic.Bool
	held     atomic.Bool             // paused by an operator; unlike without a provider, the queue accepts messages
	paused   atomic.Pointer[[]int64] // ids of paused laboratories
}

// New returns a state in which messages are delivered, until RunOnce finds otherwise.
func New(q Queue, o Observer) *Push {
	p := &Push{queue: q, observer: o}
	p.paused.Store(&[]int64{})
	p.show("")
	return p
}

// Disabled returns a state in which this service's own setting turns push messages off.
func Disabled(o Observer) *Push {
	p := &Push{observer: o}
	p.paused.Store(&[]int64{})
	p.show(Off)
	return p
}

// RunOnce queries the task queue and updates the state. If the queue does not respond, the state stays: the messages
// wait in the outbox, which has its own metrics and alerts.
func (p *Push) RunOnce(ctx context.Context) error {
	reason, labs, err := p.queue.Unserved(ctx)
	if err != nil {
		return nil //nolint:nilerr // the state stays
	}
	p.waits.Store(reason != "")
	p.held.Store(reason == Paused)
	p.paused.Store(&labs)
	p.show(reason)
	return nil
}

// Waits reports whether push messages wait, because of the task queue's configuration or an operator.
func (p *Push) Waits() bool { return p.waits.Load() }

// Held reports whether push messages wait because an operator paused the channel.
func (p *Push) Held() bool { return p.held.Load() }

// Paused reports whether push messages of a laboratory wait because an operator paused the laboratory.
func (p *Push) Paused(lab int64) bool { return slices.Contains(*p.paused.Load(), lab) }

// WaitsFor reports whether push messages of a laboratory wait.
func (p *Push) WaitsFor(lab int64) bool { return p.Waits() || p.Paused(lab) }

func (p *Push) show(reason Reason) {
	p.observer.PushUnserved(reason)
	p.observer.Note(reason.note())
}
