package worker

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Causes for cancelling a handler's context.
var (
	errShutdown        = errors.New("the worker is stopping")
	errLeaseOver       = errors.New("the lease is about to end")
	errCancelRequested = errors.New("the job was cancelled")
)

// Delivery is one execution of a job, passed to its handler.
type Delivery struct {
	ID      job.ID
	Body    *job.Body
	Attempt int // 1 for the first attempt

	intent func(ctx context.Context, provider string) (bool, error)
}

// Intend records that a paid send is about to begin. After an error, the handler must not send.
func (d Delivery) Intend(ctx context.Context, provider string) error {
	if d.intent == nil {
		return nil
	}
	owner, err := d.intent(ctx, provider)
	if err != nil {
		return job.Postpone("not_marked", markDelay).WithCause(err)
	}
	if !owner {
		return job.Postpone("lease_lost", 0).WithCause(errLeaseOver)
	}
	return nil
}

// markDelay is how long a paid send waits if its begin could not be recorded.
const markDelay = 5 * time.Second

// run is a claimed job until it is settled.
type run struct {
	id        job.ID
	flow      job.Flow
	raw       []byte
	body      *job.Body
	claimedMs int64
	received  time.Time // time at which the claim's reply arrived
	started   time.Time // time just before the claim was sent
	ctx       context.Context
	cancel    context.CancelCauseFunc
	freeSlot  sync.Once
	stopped   time.Time // when the renewer ended the context; used only by the renewer
	doubtful  bool      // the request was sent but not confirmed; set before the settlement is submitted
	leaked    bool      // the slot was returned before the handler returned; written under freeSlot

	mu       sync.Mutex // guards the lease below
	token    int64
	proposed int64     // token of an unanswered renewal; 0: none
	asked    time.Time // time at which proposed was first sent
	leaseEnd time.Time
}

// redisTime converts a time of this process to Redis's clock, in ms. All times of a job are of that clock.
func (r *run) redisTime(at time.Time) int64 { return r.claimedMs + at.Sub(r.received).Milliseconds() }

func (p *Pump) now(r *run) int64 { return r.redisTime(p.Clock.Now()) }

// lease returns the two possible tokens of the stored lease, the known one and an unanswered proposal, and the end of
// the lease.
func (r *run) lease() (token, other int64, end time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token, r.proposed, r.leaseEnd
}

// each calls do with the runs whose handlers have not returned.
func (p *Pump) each(do func(*run)) {
	p.running.Range(func(key, _ any) bool {
		if r, is := key.(*run); is {
			do(r)
		}
		return true
	})
}

func (p *Pump) execute(r *run) {
	defer p.leave(r)
	defer p.running.Delete(r)
	defer r.cancel(nil)
	began := p.Clock.Now()
	if r.raw == nil {
		p.submit(r, engine.Settlement{Op: engine.OpDrop}, "dropped", 0)
		return
	}
	body, err := job.DecodeBody(r.raw)
	if err != nil {
		p.submit(r, p.corrupt(r), "corrupt", 0)
		return
	}
	r.body = body
	if err := p.Seals.Open(body); err != nil {
		p.sealed(r, err)
		return
	}
	ctx := telemetry.WithRequestID(r.ctx, body.RequestID)
	result, err := p.handle(ctx, r)
	settlement, outcome := p.settlement(r, result, err, began)
	p.log(ctx, r, result, err, outcome)
	p.noteWait(r, outcome)
	p.submit(r, settlement, outcome, p.Clock.Now().Sub(began))
}

// sealedDelay is how long a job waits for a missing key of its payload.
const sealedDelay = time.Minute

// sealed returns a job that cannot be decrypted to its lane, because this process probably lacks a key.
func (p *Pump) sealed(r *run, err error) {
	p.Log.Error("a job cannot be opened and waits", "job_id", string(r.id), "error", err)
	p.submit(r, engine.Settlement{Op: engine.OpRelease, Delay: sealedDelay}, "postponed", 0)
}

// noteWait records the wait of first attempts only, because later ones include a retry delay.
func (p *Pump) noteWait(r *run, outcome string) {
	if r.body.Attempts > 0 || r.body.Nonce > 0 || outcome == "postponed" || outcome == "released" {
		return
	}
	due := max(r.body.CreatedMs, r.body.ScheduledMs)
	p.Observer.Waited(r.id.Lane(), time.Duration(max(0, r.claimedMs-due))*time.Millisecond)
}

// log writes one line per failed attempt, and for others at debug level. It never logs the payload, the recipient or
// the receiver's response.
func (p *Pump) log(ctx context.Context, r *run, result job.Result, err error, outcome string) {
	if err == nil || outcome == "postponed" || outcome == "released" {
		p.Log.DebugContext(ctx, "a delivery ended", "job_id", string(r.id), "outcome", outcome)
		return
	}
	p.Log.InfoContext(ctx, "a delivery failed", "job_id", string(r.id), "lab_id", r.body.LabID,
		"log_tag", r.body.LogTag, "attempt", r.body.Attempts+1, "reason", job.AsFailure(err).Reason,
		"http_status", result.HTTPStatus, "outcome", outcome)
}

func (p *Pump) leave(r *run) {
	r.freeSlot.Do(func() { p.Pool.release(r.flow) })
	if r.leaked {
		p.Pool.leaked.Add(-1)
	}
}

// handle calls the handler. A panic becomes a retryable failure, and its stack is logged.
func (p *Pump) handle(ctx context.Context, r *run) (result job.Result, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			p.Log.ErrorContext(ctx, "handler panicked", "job_id", string(r.id), "stack", string(debug.Stack()))
			err = job.Retryable("panic", "The delivery failed inside the task queue; it is tried again")
		}
	}()
	if r.body.ExpiresMs > 0 && p.now(r) > r.body.ExpiresMs {
		return job.Result{}, job.Permanent("expired", "The message was too old to be sent")
	}
	return p.Handler.Handle(ctx, Delivery{ID: r.id, Body: r.body, Attempt: r.body.Attempts + 1,
		intent: func(ctx context.Context, provider string) (bool, error) {
			token, other, _ := r.lease()
			owner, err := p.Queue.MarkIntent(ctx, r.id, token, provider)
			if !owner && err == nil && other != 0 {
				return p.Queue.MarkIntent(ctx, r.id, other, provider)
			}
			return owner, err
		}})
}
