package operate

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// maxPauses is the maximum number of simultaneous pauses, because every claim lists the paused laboratories.
const maxPauses = 200

// Paused is the result of a pause or its end.
type Paused struct {
	Target engine.Target `json:"target"`
	Paused bool          `json:"paused"`
}

// Pause pauses a channel, a laboratory or a receiver, or ends such a pause. Within about a second, all processes stop
// starting jobs of the channel or laboratory, or sending to the receiver. Running jobs end as usual, and tasks are
// still accepted.
func (o *Operator) Pause(ctx context.Context, x Order) (Paused, error) {
	if err := x.Check(); err != nil {
		return Paused{}, err
	}
	t, err := x.Target()
	if err != nil {
		return Paused{}, err
	}
	if x.Paused {
		err = o.pause(ctx, t)
	} else {
		err = o.Queue.Resume(ctx, t)
	}
	if err != nil {
		return Paused{}, engine.Unavailable(err)
	}
	x.log(o.Audit).WarnContext(ctx, "an operator paused or resumed a part of the queue",
		"target", string(t), "paused", x.Paused)
	return Paused{Target: t, Paused: x.Paused}, nil
}

func (o *Operator) pause(ctx context.Context, t engine.Target) error {
	known, err := o.Queue.Paused(ctx, 0)
	if err != nil {
		return err
	}
	if _, again := known[t]; !again && len(known) >= maxPauses {
		return apperr.New(apperr.Conflict, "TOO_MANY_PAUSES",
			fmt.Sprintf("%d things are paused already; resume some, or pause a channel", len(known)))
	}
	return o.Queue.Pause(ctx, t, o.Clock.Now())
}
