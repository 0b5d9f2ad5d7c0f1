package operate

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
)

// Change does something to single jobs: cancel, retry, sent or not_sent (of jobs in state unknown). It returns the ids
// that it was done to and the others.
func (o *Operator) Change(ctx context.Context, action string, ids []string) (done, others []string, err error) {
	done, requested, others, err := o.change(ctx, Action(action), ids)
	return append(done, requested...), others, err
}

// change is also what each step of an action on many jobs does; requested are running jobs that were asked to end.
func (o *Operator) change(ctx context.Context, a Action, ids []string) (done, requested, others []string, err error) {
	var c api.Changed
	switch a {
	case Cancel:
		c, err = o.Jobs.Cancel(ctx, everybody, ids)
	case Retry:
		c, err = o.Jobs.RetryFailed(ctx, everybody, ids)
	case Sent, NotSent:
		c, err = o.Jobs.Resolve(ctx, everybody, ids, a == Sent)
	default:
		err = apperr.InvalidField("action", "the action must be cancel, retry, sent or not_sent")
	}
	return c.Done, c.Requested, c.Others, err
}
