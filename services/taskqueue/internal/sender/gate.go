package sender

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// unknownDelay is how long a message waits while the rules have not been read.
const unknownDelay = 30 * time.Second

// Gate checks again, at the time of sending, whether a laboratory may use the senders named in a message. A rule may
// have been removed since the task was accepted.
type Gate struct {
	senders *Senders
	next    worker.Handler
}

// NewGate returns a Gate in front of next.
func NewGate(senders *Senders, next worker.Handler) *Gate { return &Gate{senders: senders, next: next} }

// Handle fails a message permanently if it names a sender that the laboratory may not use. Messages that name no
// sender, and those sent by the platform without a laboratory, are not checked.
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
