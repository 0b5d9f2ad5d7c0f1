package worker

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// settlement returns the settlement for the result of a run, and the outcome's name for metrics.
func (p *Pump) settlement(r *run, result job.Result, err error, began time.Time) (engine.Settlement, string) {
	if err == nil {
		return p.final(r, job.Finished, result, nil, began), "succeeded"
	}
	cause := context.Cause(r.ctx)
	if errors.Is(cause, errShutdown) && !result.Sent {
		return engine.Settlement{Op: engine.OpRelease}, "released"
	}
	if errors.Is(cause, errCancelRequested) && !result.Sent {
		return p.cancelled(r), "cancelled"
	}
	failure := job.AsFailure(err)
	r.doubtful = result.Sent
	if errors.Is(cause, errCancelRequested) && r.doubtful {
		return p.unknown(r), "unknown"
	}
	// Once the job has waited too long for its destination, postponements count as attempts.
	outwaited := failure.Recovers && p.patienceLeft(r, r.body.Attempts) <= 0
	if failure.Postponed && result.Progress == nil && !outwaited {
		return p.postponed(r, failure), "postponed"
	}
	attempts := r.body.Attempts + 1
	patience := max(failure.Patience, time.Duration(r.body.PatientMs)*time.Millisecond)
	last := attempts > r.body.Retry && (r.body.Retry == 0 || p.waited(r) >= patience)
	if failure.Doubtful && (last || !failure.Repeatable) {
		return p.final(r, job.Unknown, result, failure, began), "unknown"
	}
	if failure.Permanent || last {
		return p.final(r, job.Failed, result, failure, began), "failed"
	}
	next := *r.body
	p.countAttempt(&next, r, result, failure, began)
	p.Seals.Seal(&next, r.id.Lane().Channel)
	asked := failure.RetryAfter
	if failure.Postponed {
		asked = 0 // the job has waited long enough
	}
	retry := engine.Settlement{Op: engine.OpRetry, Payload: next.Encode(nil), Window: next.Window(r.id.Lane().Priority),
		Delay: job.Backoff(r.id.Lane().Channel, attempts, p.Roll(), asked)}
	if left := p.patienceLeft(r, attempts); failure.To != "" && left > retry.Delay {
		retry.To, retry.Delay = failure.To, left
	}
	return retry, "retry"
}

// parkedLook is the longest time for which a job is parked if its pauses never count as attempts. If it is not released
// earlier, it then runs and checks its destination itself.
const parkedLook = 30 * time.Minute

// postponed returns the job to its lane unchanged. While its destination is paused, the job is parked. It is claimed
// again when it is released, or when its maximum wait has passed.
func (p *Pump) postponed(r *run, failure *job.Failure) engine.Settlement {
	s := engine.Settlement{Op: engine.OpRelease, To: failure.To}
	switch {
	case s.To == "":
		s.Delay = time.Duration(float64(p.patience(r, failure)) * (0.5 + p.Roll()))
	case failure.Recovers:
		s.Delay = p.patienceLeft(r, r.body.Attempts)
	default:
		s.Delay = parkedLook
	}
	if left := time.Duration(r.body.ExpiresMs-p.now(r)+1) * time.Millisecond; r.body.ExpiresMs > 0 && left > 0 {
		s.Delay = min(s.Delay, left) // run again in time to report that the job expired
	}
	return s
}

// patienceLeft returns the time until pauses count as attempts, for a job with the given number of failed attempts.
func (p *Pump) patienceLeft(r *run, attempts int) time.Duration {
	return job.RecoveryPatience(r.id.Lane().Channel, attempts) - p.waited(r) + time.Millisecond
}

// waited returns the time since the job was due.
func (p *Pump) waited(r *run) time.Duration {
	return time.Duration(p.now(r)-max(r.body.CreatedMs, r.body.ScheduledMs)) * time.Millisecond
}

// patience returns the delay until the next attempt. It grows with the time that a job has waited for a receiver to
// recover.
func (p *Pump) patience(r *run, failure *job.Failure) time.Duration {
	const rarely, longest = 4, 3 * time.Minute // a quarter of the time it has waited
	if !failure.Recovers {
		return failure.RetryAfter
	}
	return max(failure.RetryAfter, min(longest, p.waited(r)/rarely))
}

func (p *Pump) countAttempt(b *job.Body, r *run, result job.Result, failure *job.Failure, began time.Time) {
	b.Attempts++
	if result.Progress != nil {
		b.Progress = result.Progress
	}
	if b.StartedMs == 0 {
		b.StartedMs = r.claimedMs
	}
	if failure == nil {
		b.LastError, b.LastReason = "", ""
		return
	}
	b.PatientMs = max(b.PatientMs, failure.Patience.Milliseconds())
	b.LastError, b.LastReason = failure.Message, failure.Reason
	b.History = job.AppendHistory(b.History, job.Attempt{StartedMs: r.redisTime(began), EndedMs: p.now(r),
		HTTPStatus: result.HTTPStatus, Error: failure.Message, Reason: failure.Reason})
}

// final returns the settlement of a job that ends, with its record and its callbacks.
func (p *Pump) final(
	r *run, state job.State, result job.Result, failure *job.Failure, began time.Time,
) engine.Settlement {
	last := *r.body
	p.countAttempt(&last, r, result, failure, began)
	record := job.RecordOf(&last, state, p.now(r))
	record.HTTPStatus, record.Excerpt, record.MessageID = result.HTTPStatus, result.Excerpt, result.MessageID
	return Ending(p.IDs, r.id, r.body, &record)
}

// cancelled returns the settlement of a run that was cancelled before anything was sent.
func (p *Pump) cancelled(r *run) engine.Settlement {
	record := job.RecordOf(r.body, job.Cancelled, p.now(r))
	return Ending(p.IDs, r.id, r.body, &record)
}

// unknown returns the settlement of a run that was cancelled after its request was sent, because the receiver may have
// acted on it.
func (p *Pump) unknown(r *run) engine.Settlement {
	failure := job.Doubt("cancelled_late",
		"The task was cancelled while the receiver had its request; it may have acted on it")
	return p.final(r, job.Unknown, job.Result{Sent: true}, failure, r.received)
}

// corrupt returns the settlement of a job whose body cannot be decoded. The job fails and is kept for inspection.
func (p *Pump) corrupt(r *run) engine.Settlement {
	record := job.Record{
		State:     job.Failed,
		CreatedMs: r.id.CreatedMs(),
		EndedMs:   p.now(r),
		Error:     "The stored job cannot be read",
		Reason:    "corrupt",
	}
	return engine.Settlement{Op: engine.OpFail, Payload: record.Encode(nil)}
}

var opOf = map[job.State]engine.Op{job.Finished: engine.OpSucceed, job.Failed: engine.OpFail,
	job.Unknown: engine.OpUnknown, job.Cancelled: engine.OpCancel}

// Ending returns the settlement of a job that ends with record, and the callbacks about it.
func Ending(ids *job.Generator, id job.ID, b *job.Body, record *job.Record) engine.Settlement {
	children := Callbacks(ids, id, b, record)
	return engine.Settlement{Op: opOf[record.State], Payload: record.Encode(nil), Callbacks: children}
}

// Callbacks returns the callback jobs of a job that ended, which are on the same shard. It adds their ids to record, so
// the record must be encoded afterwards.
func Callbacks(ids *job.Generator, id job.ID, b *job.Body, record *job.Record) (children []engine.NewJob) {
	for _, url := range job.CallbackURLs(id.Lane(), b, record.State) {
		body, child := job.CallbackBody(id, b, record, url), ids.Next(id.Shard(), engine.CallbackLane())
		children = append(children, engine.NewJob{ID: child, Flow: body.Flow, Body: body.Encode(nil)})
		record.Callbacks = append(record.Callbacks, child)
	}
	return children
}
