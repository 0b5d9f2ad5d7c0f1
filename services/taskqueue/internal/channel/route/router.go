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
	// unservedDelay is how long messages of a channel without providers wait before the next try.
	unservedDelay = time.Minute
	// unknownDelay is the same delay before the providers were read for the first time. It is short, because the database
	// may recover any moment.
	unknownDelay = 2 * time.Second
)

// router is the handler of one channel.
type router struct {
	set     *Set
	channel job.Channel
}

// Handle sends a message through the providers that serve it, one after the other, until one sends it or no further one
// may try.
func (r *router) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	to, err := address(r.channel, d.Body)
	if err != nil {
		return job.Result{}, err
	}
	known := r.set.known()
	switch {
	case known == nil: // the providers were not read since the start
		return job.Result{}, job.Postpone("no_provider", unknownDelay)
	case len(known[r.channel]) == 0: // the task was accepted when there were providers, or before they were known
		return job.Result{}, job.Postpone("no_provider", unservedDelay)
	}
	list, out := known.choose(r.channel, to)
	switch {
	case len(list) == 0 && out != "": // wait until an operator corrects the row
		wait := job.Out(r.channel, out)
		r.set.cfg.Circuits.Wait(ctx, wait, holdOut) // repeated here in case no process reads the rows now
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
	if f := job.AsFailure(failed); asked && f.Postponed { // one was called, another is paused
		failed = job.Retryable(f.Reason, f.Message).After(f.RetryAfter)
	}
	if held {
		failed = job.AsFailure(failed).For(job.ViaAny(r.channel))
	}
	return result, failed
}

// address reads the parts of a task that the choice of a provider depends on. Only tasks of SMS and WhatsApp have a
// number and config; members with these names in other tasks have another meaning.
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

// unserved returns the failure of a message that no row serves. Push and e-mail messages were accepted while a row
// served their sub-type, and wait for another one. A phone number may be of a country that no row ever serves, so such
// a message fails.
func unserved(to target) error {
	switch {
	case to.forced != "":
		return job.Permanent("unknown_provider", "The provider that the task names is not configured any more")
	case to.country == 0:
		return job.Postpone("no_provider", unservedDelay)
	}
	return job.Permanent("no_provider", "No configured provider serves this sub-type and country")
}

// movesOn reports whether the next provider may be tried after err.
func movesOn(ctx context.Context, result job.Result, err error) bool {
	f := job.AsFailure(err)
	if f.Doubtful || (f.Postponed && !f.Recovers) || result.Sent || ctx.Err() != nil {
		return false
	}
	return !f.Permanent || f.Elsewhere
}

// better reports whether err is to be returned instead of failed: a temporary error before a permanent one, and the one
// with the shorter delay.
func better(err, failed error) bool {
	a, b := job.AsFailure(err), job.AsFailure(failed)
	if a.Permanent != b.Permanent {
		return b.Permanent
	}
	return !a.Permanent && a.RetryAfter < b.RetryAfter
}
