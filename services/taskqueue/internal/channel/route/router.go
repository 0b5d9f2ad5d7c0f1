package route

import (
	"context"
	"encoding/json"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

const (
	// unservedDelay is how long messages of a channel without providers wait before they are tried again.
	unservedDelay = time.Minute
	// unknownDelay is the same while the providers were not read yet: a database that recovers is asked soon.
	unknownDelay = 2 * time.Second
)

// router is the handler of one channel.
type router struct {
	set     *Set
	channel job.Channel
}

// Handle tries the providers of a message one after the other until the message's fate is decided.
func (r *router) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	to, err := address(r.channel, d.Body)
	if err != nil {
		return job.Result{}, err
	}
	known := r.set.known()
	switch {
	case known == nil: // the database did not answer since our start
		return job.Result{}, job.Postpone("no_provider", unknownDelay)
	case len(known[r.channel]) == 0: // accepted when there were providers, or before we knew
		return job.Result{}, job.Postpone("no_provider", unservedDelay)
	}
	list, out := known.choose(r.channel, to)
	switch {
	case len(list) == 0 && out != "": // until someone corrects the row
		wait := job.Out(r.channel, out)
		r.set.cfg.Circuits.Wait(ctx, wait, holdOut) // also when no one reads the rows at the moment
		return job.Result{}, job.Postpone("provider_out", unservedDelay).For(wait)
	case len(list) == 0:
		return job.Result{}, unserved(to)
	}
	var result job.Result
	var failed error
	asked, held := false, true
	for _, p := range list {
		answer, err := p.send(ctx, d)
		held = held && r.set.cfg.Circuits.Holds(p.to)
		if err == nil || !movesOn(ctx, answer, err) {
			return answer, err
		}
		asked = asked || !job.AsFailure(err).Postponed
		if failed == nil || better(err, failed) {
			result, failed = answer, err
		}
	}
	if f := job.AsFailure(failed); asked && f.Postponed { // one was asked, and another one is paused
		failed = job.Retryable(f.Reason, f.Message).After(f.RetryAfter)
	}
	if held {
		failed = job.AsFailure(failed).For(job.ViaAny(r.channel))
	}
	return result, failed
}

// address reads what the choice depends on. Numbers and config are members of SMS and WhatsApp alone; whatever
// else is called so in other tasks is their own affair.
func address(c job.Channel, b *job.Body) (target, error) {
	if c != job.SMS && c != job.WhatsApp {
		return target{taskType: b.TaskType}, nil
	}
	var d struct {
		task.Recipient
		Config task.Provider `json:"config"`
	}
	if err := json.Unmarshal(b.Data, &d); err != nil {
		return target{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	to, err := d.Accepted()
	return target{taskType: b.TaskType, country: to.Country, forced: d.Config.Provider}, err
}

// unserved returns what becomes of a message that no row serves. Push and e-mail were accepted while a row served their
// sub-type, and wait for another one; a number is of a country that may never have one.
func unserved(to target) error {
	switch {
	case to.forced != "":
		return job.Permanent("unknown_provider", "The provider that the task names is not configured any more")
	case to.country == 0:
		return job.Postpone("no_provider", unservedDelay)
	}
	return job.Permanent("no_provider", "No configured provider serves this sub-type and country")
}

// movesOn reports whether the next provider may try after err.
func movesOn(ctx context.Context, result job.Result, err error) bool {
	f := job.AsFailure(err)
	if f.Doubtful || (f.Postponed && !f.Recovers) || result.Sent || ctx.Err() != nil {
		return false
	}
	return !f.Permanent || f.Elsewhere
}

// better reports whether err says more about the job's future than failed: whatever may pass keeps the job
// alive, and the shortest wait counts.
func better(err, failed error) bool {
	a, b := job.AsFailure(err), job.AsFailure(failed)
	if a.Permanent != b.Permanent {
		return b.Permanent
	}
	return !a.Permanent && a.RetryAfter < b.RetryAfter
}
