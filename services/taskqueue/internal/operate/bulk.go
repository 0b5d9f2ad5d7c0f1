package operate

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Action is something that is done to many jobs.
type Action string

// The actions.
const (
	Cancel Action = "cancel" // waiting jobs end, running ones are asked to
	Retry  Action = "retry"  // failed jobs run again, as with /retryTask/
	Delete Action = "delete" // dead jobs are forgotten; the archive keeps how they ended
	// Sent and NotSent end unknown jobs by what was found out at the provider.
	Sent    Action = "sent"
	NotSent Action = "not_sent"
)

// Actions lists them all.
func Actions() []Action { return []Action{Cancel, Retry, Delete, Sent, NotSent} }

var actsOn = map[Action][]job.State{
	Cancel:  {job.Scheduled, job.Queued, job.Retrying, job.Started},
	Retry:   {job.Failed},
	Delete:  {job.Failed, job.Unknown},
	Sent:    {job.Unknown},
	NotSent: {job.Unknown},
}

// narrow keeps of a filter what the action can be done to.
func (a Action) narrow(f Filter) (Filter, error) {
	states, known := actsOn[a]
	switch {
	case !known:
		return f, apperr.InvalidField("action", "the action must be cancel, retry, delete, sent or not_sent")
	case f.LabID == 0 && len(f.Channels) == 0:
		return f, apperr.InvalidField("lab_id", "name a laboratory or a channel: an action on everything is not offered")
	case f.CreatedBeforeMs == 0:
		return f, apperr.InvalidField("created_before_ms", "preview first: the action is done to jobs of the preview only")
	}
	if len(f.States) == 0 {
		f.States = states
		return f, nil
	}
	for _, s := range f.States {
		if !slices.Contains(states, s) {
			return f, apperr.InvalidField("states", "jobs of state "+s.String()+" cannot be changed by the action "+string(a))
		}
	}
	return f, nil
}

const (
	previewSteps = 20
	previewIDs   = 10
)

// Preview is what an action would be done to.
type Preview struct {
	Matched int
	First   []job.ID
	Looked  int
	Next    string // the cursor to count on from; empty: that was all
}

// Preview counts the jobs from a cursor on that an action would be done to, up to 10,000 in one call.
func (o *Operator) Preview(ctx context.Context, a Action, f Filter, cursor string) (Preview, error) {
	f, err := a.narrow(f)
	if err != nil {
		return Preview{}, err
	}
	out := Preview{Next: cursor}
	for range previewSteps {
		found, looked, next, err := o.step(ctx, f, out.Next, StepSize+1)
		if err != nil {
			return Preview{}, err
		}
		for _, one := range found {
			if len(out.First) < previewIDs {
				out.First = append(out.First, one.view.ID)
			}
		}
		out.Matched, out.Looked, out.Next = out.Matched+len(found), out.Looked+looked, next
		if next == "" {
			break
		}
	}
	return out, nil
}

// Step is what one step of an action did.
type Step struct {
	Done      int // ended, revived or deleted
	Requested int // running jobs that were asked to end
	Left      int // changed meanwhile, so that the action does not fit any more
	Looked    int
	Next      string // the cursor of the next step; empty: that was all
}

// Apply does one step of an action: it looks at up to StepSize jobs. A step may be repeated.
func (o *Operator) Apply(ctx context.Context, a Action, f Filter, cursor string) (Step, error) {
	f, err := a.narrow(f)
	if err != nil {
		return Step{}, err
	}
	found, looked, next, err := o.step(ctx, f, cursor, StepSize+1)
	if err != nil {
		return Step{}, err
	}
	out := Step{Looked: looked, Next: next}
	if len(found) > 0 {
		err = o.act(ctx, a, found, &out)
	}
	return out, err
}

func (o *Operator) act(ctx context.Context, a Action, found []match, out *Step) error {
	if a == Delete {
		return o.delete(ctx, found, out)
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = string(found[i].view.ID)
	}
	done, requested, others, err := o.change(ctx, a, ids)
	out.Done, out.Requested, out.Left = len(done), len(requested), len(others)
	return err
}

// delete forgets dead jobs that are still the same death, after the archive took how they ended.
func (o *Operator) delete(ctx context.Context, found []match, out *Step) error {
	ids := make([]job.ID, len(found))
	byShard := map[int][]engine.Dead{}
	for i, one := range found {
		ids[i] = one.view.ID
		shard := ids[i].Shard()
		byShard[shard] = append(byShard[shard], engine.Dead{ID: ids[i], DiedMs: one.entry.Score})
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
			return unavailable(err)
		}
		out.Done += int(went)
	}
	out.Left = len(found) - out.Done
	return nil
}
