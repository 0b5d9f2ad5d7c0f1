package operate

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Action is a change that an operator makes to jobs.
type Action string

// Actions of operators.
const (
	Cancel Action = "cancel" // waiting jobs end, running jobs are requested to end
	Retry  Action = "retry"  // failed jobs run again, like with /retryTask/
	Delete Action = "delete" // dead letters are deleted; the archive keeps their outcome
	// Sent and NotSent end jobs in state unknown with the outcome confirmed by the provider.
	Sent    Action = "sent"
	NotSent Action = "not_sent"
)

// actsOn lists the states to which an action applies.
var actsOn = map[Action][]job.State{
	Cancel:  {job.Scheduled, job.Queued, job.Retrying, job.Started},
	Retry:   {job.Failed},
	Delete:  {job.Failed, job.Unknown},
	Sent:    {job.Unknown},
	NotSent: {job.Unknown},
}

// narrowed returns the order's filter, limited to the states to which its action applies.
func (o *Order) narrowed() (Filter, error) {
	if err := o.Check(); err != nil {
		return Filter{}, err
	}
	f, err := o.Filter()
	states, known := actsOn[o.Action]
	switch {
	case err != nil:
		return f, err
	case !known:
		return f, apperr.InvalidField("action", "the action must be cancel, retry, delete, sent or not_sent")
	case f.LabID == 0 && len(f.Channels) == 0:
		return f, apperr.InvalidField("lab_id", "name a laboratory or a channel: an action on everything is not offered")
	case f.CreatedBeforeMs == 0:
		return f, apperr.InvalidField("created_before_ms", "preview first: the action is done to jobs of the preview only")
	}
	if len(f.States) == 0 {
		f.States = states
	}
	for _, s := range f.States {
		if !slices.Contains(states, s) {
			return f, apperr.InvalidField("states",
				"jobs of state "+s.String()+" cannot be changed by the action "+string(o.Action))
		}
	}
	return f, nil
}

const (
	previewLooks = 20 * StepSize // per call
	previewIDs   = 10
)

// Preview counts the jobs that an action would change.
type Preview struct {
	Matched         int      `json:"matched"`
	First           []job.ID `json:"first"`
	Looked          int      `json:"looked"`
	Next            string   `json:"next"` // cursor of the next call; empty after the last one
	CreatedBeforeMs int64    `json:"created_before_ms"`
}

// Preview counts, from the cursor on, the jobs that an action would change; up to 10,000 jobs per call. The first call
// fixes the time: later jobs are skipped.
func (o *Operator) Preview(ctx context.Context, x Order) (Preview, error) {
	if x.CreatedBeforeMs == 0 {
		x.CreatedBeforeMs = o.Clock.Now().UnixMilli() + 1 - x.OlderThanMin*60_000
	}
	f, err := x.narrowed()
	if err != nil {
		return Preview{}, err
	}
	out := Preview{First: []job.ID{}, CreatedBeforeMs: x.CreatedBeforeMs}
	out.Looked, out.Next, err = o.walk(ctx, f, x.Cursor, previewLooks, func(one match) bool {
		if out.Matched++; out.Matched <= previewIDs {
			out.First = append(out.First, one.ID)
		}
		return false
	})
	return out, err
}

// Step is the result of one step of an action.
type Step struct {
	Done      int    `json:"done"`      // ended, retried or deleted
	Requested int    `json:"requested"` // running jobs that were requested to end
	Left      int    `json:"left"`      // changed since the preview, so that the action no longer applies
	Looked    int    `json:"looked"`
	Next      string `json:"next"` // cursor of the next step; empty after the last one
}

// Apply executes one step of an action, which reads up to StepSize jobs. A step may be repeated. A step that fails
// halfway is logged, too.
func (o *Operator) Apply(ctx context.Context, x Order) (Step, error) {
	f, err := x.narrowed()
	if err != nil {
		return Step{}, err
	}
	var out Step
	var found []match
	out.Looked, out.Next, err = o.walk(ctx, f, x.Cursor, StepSize, func(one match) bool {
		found = append(found, one)
		return false
	})
	if err != nil {
		return Step{}, err
	}
	if len(found) > 0 {
		err = o.act(ctx, x.Action, found, &out)
	}
	if err == nil || out.Done+out.Requested > 0 {
		x.log(o.Audit).InfoContext(ctx, "an operator changed jobs", "action", string(x.Action), "lab_id", f.LabID,
			"channels", words(f.Channels), "states", words(f.States), "created_before_ms", f.CreatedBeforeMs,
			"done", out.Done, "requested", out.Requested, "left", out.Left, "complete", err == nil)
	}
	return out, err
}

func (o *Operator) act(ctx context.Context, a Action, found []match, out *Step) error {
	if a == Delete {
		return o.delete(ctx, found, out)
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = string(found[i].ID)
	}
	c, err := o.change(ctx, a, ids)
	out.Done, out.Requested, out.Left = len(c.Done), len(c.Requested), len(c.Others)
	return err
}

func (o *Operator) change(ctx context.Context, a Action, ids []string) (manage.Changed, error) {
	switch a {
	case Cancel:
		return o.Jobs.Cancel(ctx, everybody, ids)
	case Retry:
		return o.Jobs.RetryFailed(ctx, everybody, ids)
	case Sent, NotSent:
		return o.Jobs.Resolve(ctx, everybody, ids, a == Sent)
	}
	return manage.Changed{}, apperr.InvalidField("action", "the action must be cancel, retry, sent or not_sent")
}

// Change applies an action to single jobs: cancel, retry, sent or not_sent (for jobs in state unknown).
func (o *Operator) Change(ctx context.Context, x Order) (manage.Changed, error) {
	if err := x.Check(); err != nil {
		return manage.Changed{}, err
	}
	c, err := o.change(ctx, x.Action, x.IDs)
	c.Done, c.Requested = append(c.Done, c.Requested...), nil
	if err == nil || len(c.Done) > 0 {
		x.log(o.Audit).InfoContext(ctx, "an operator changed jobs", "action", string(x.Action), "job_ids", c.Done,
			"left", len(c.Others))
	}
	return c, err
}

// delete deletes dead letters that have not been retried since, after the archive has stored their outcome.
func (o *Operator) delete(ctx context.Context, found []match, out *Step) error {
	ids := make([]job.ID, len(found))
	byShard := map[int][]engine.Member{}
	for i, one := range found {
		ids[i] = one.ID
		byShard[one.ID.Shard()] = append(byShard[one.ID.Shard()], one.entry)
	}
	if o.Keeper != nil {
		if err := o.Keeper.Keep(ctx, ids); err != nil {
			return apperr.New(apperr.Unavailable, "ARCHIVE_UNAVAILABLE",
				"The archive does not take how the jobs ended, so none was deleted; try again when the database is back").WithCause(err)
		}
	}
	for shard, list := range byShard {
		went, err := o.Queue.TrimDead(ctx, shard, list)
		if err != nil {
			return engine.Unavailable(err)
		}
		out.Done += int(went)
	}
	out.Left = len(found) - out.Done
	return nil
}
