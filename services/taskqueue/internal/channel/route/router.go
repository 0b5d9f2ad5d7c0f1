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
	// unservedDelay is how long messages of a channel without providers wait before the next attempt.
	unservedDelay = time.Minute
	// unknownDelay is the delay before the next attempt while the providers have never been read. It is short, because the
	// database may recover at any moment.
	unknownDelay = 2 * time.Second
)

// router is the handler of one channel.
type router struct {
	set     *Set
	channel job.Channel
}

// Handle sends a message through the providers that serve it, one after the other, until one sends it or no further one
// may be tried.
func (r *router) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	to, err := address(r.channel, d.Body)
	if err != nil {
		return job.Result{}, err
	}
	known := r.set.known()
	switch {
	case known == nil: // the providers have not been read since the start
		return job.Result{}, job.Postpone("no_provider", unknownDelay)
	case len(known[r.channel]) == 0: // the task was accepted while there were providers, or before they were read
		return job.Result{}, job.Postpone("no_provider", unservedDelay)
	}
	list, out := known.choose(r.channel, to)
	switch {
	case len(list) == 0 && out != "": // wait until an operator corrects the row
		wait := job.Out(r.channel, out)
		r.set.cfg.Circuits.Wait(ctx, wait, holdOut) // repeated here in case no process reads the rows at present
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
		f := job.AsFailure(err)
		asked = asked || !f.Postponed && !f.Permanent
		if failed == nil || better(err, failed) {
			result, failed = answer, err
		}
	}
	if f := job.AsFailure(failed); asked && f.Postponed { // one provider failed for now, another is paused
		failed = job.Retryable(f.Reason, f.Message).After(f.RetryAfter)
	}
	if held {
		failed = job.AsFailure(failed).For(job.ViaAny(r.channel))
	}
	return result, failed
}

// address reads the parts of a task on which the choice of a provider depends. Only SMS and WhatsApp tasks have a
// number and config; in other tasks, members with these names have another meaning.
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
// served their sub-type, and wait for another one. A message to a phone number fails, because no row may ever serve its
// country.
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

// better reports whether err should be returned instead of failed: a temporary error has precedence over a permanent
// one, and a shorter delay over a longer one.
func better(err, failed error) bool {
	a, b := job.AsFailure(err), job.AsFailure(failed)
	if a.Permanent != b.Permanent {
		return b.Permanent
	}
	return !a.Permanent && a.RetryAfter < b.RetryAfter
}
