package sender

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// unknownDelay is how long a message waits while no one knows which senders its laboratory may name.
const unknownDelay = 30 * time.Second

// Gate lets messages pass to a handler whose laboratory may name their senders at the moment of sending: a rule may
// have been taken away since they were accepted.
type Gate struct {
	senders *Senders
	next    worker.Handler
}

// NewGate makes a gate in front of next.
func NewGate(senders *Senders, next worker.Handler) *Gate { return &Gate{senders: senders, next: next} }

// Handle checks the senders that a message names. One that names none has the default, and what the platform sends for
// no laboratory is its own business.
func (g *Gate) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	channel := d.ID.Lane().Channel
	named, err := task.Senders(channel, d.Body.Data)
	if err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	if len(named) == 0 || d.Body.LabID == 0 {
		return g.next.Handle(ctx, d)
	}
	if !g.senders.Known() {
		return job.Result{}, job.Postpone("senders_unknown", unknownDelay)
	}
	for _, one := range named {
		if !g.senders.Allows(channel, d.Body.LabID, one) {
			return job.Result{}, job.Permanent("sender_refused", "The task names a sender that is not one of this laboratory")
		}
	}
	return g.next.Handle(ctx, d)
}
