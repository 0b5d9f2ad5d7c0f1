package operate

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Change does something to single jobs: cancel, retry, sent or not_sent (of jobs in state unknown). It returns the ids
// that it was done to and the others.
func (o *Operator) Change(ctx context.Context, action string, ids []string) (done, others []string, err error) {
	switch action {
	case "cancel":
		outcome, err := o.Jobs.Cancel(ctx, everybody, ids)
		done = append(outcome.Cancelled, outcome.Requested...)
		return done, outcome.NotFound, err
	case "retry":
		return o.Jobs.RetryFailed(ctx, everybody, ids)
	case "sent", "not_sent":
		return o.Jobs.Resolve(ctx, everybody, ids, action == "sent")
	default:
		return nil, nil, apperr.InvalidField("action", "the action must be cancel, retry, sent or not_sent")
	}
}
