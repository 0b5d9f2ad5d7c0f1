package janitor

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// reap ends the expired leases of a channel page by page. It renews the leadership before each further page.
func (j *Janitor) reap(ctx context.Context, shard int, c job.Channel, fence int64) error {
	for fence != 0 {
		expired, err := j.Queue.Expired(ctx, shard, c, page)
		if err != nil || len(expired) == 0 {
			return err
		}
		list := make([]engine.Settlement, len(expired))
		decisions := make([]job.Expiry, len(expired))
		for i, e := range expired {
			list[i], decisions[i] = j.decide(e)
		}
		verdicts, err := j.Queue.Reap(ctx, shard, c, fence, list)
		if err != nil {
			return err
		}
		for i, v := range verdicts {
			if v.Done() {
				j.Observer.Reaped(c, decisions[i].String())
			}
		}
		if len(expired) < page {
			return nil
		}
		if fence, err = j.lead(ctx, shard); err != nil {
			return err
		}
	}
	return nil
}

func (j *Janitor) decide(e engine.Expired) (engine.Settlement, job.Expiry) {
	e.Evidence.Resend = j.cfg.Resend
	decision, counters := job.DecideExpiry(e.Evidence)
	s := engine.Settlement{
		ID:      e.ID,
		Token:   e.Token,
		Op:      engine.OpRelease,
		Counter: counters.Packed(),
		Flow:    job.FlowOf(e.Raw),
		Delay:   time.Duration(j.Roll() * float64(counters.Spread())),
	}
	body, err := job.DecodeBody(e.Raw)
	if err != nil {
		body = &job.Body{CreatedMs: e.ID.CreatedMs()}
	}
	s.Window = body.Window(e.ID.Lane().Priority)
	switch decision {
	case job.ExpireDrop:
		s.Op = engine.OpDrop
	case job.ExpirePoison:
		j.end(&s, body, job.Failed, poisoned)
	case job.ExpireHold:
		j.end(&s, body, job.Unknown, interrupted)
	case job.ExpireCancel:
		j.end(&s, body, job.Cancelled, &job.Failure{})
	}
	return s, decision
}

// Reasons for which the reaper ends a job.
var (
	poisoned    = job.Permanent("poisoned", "The workers that ran the task died four times; it is not tried again")
	interrupted = job.Doubt("worker_died", "The worker died while sending; the message may have been sent")
)

func (j *Janitor) end(s *engine.Settlement, body *job.Body, state job.State, why *job.Failure) {
	now := j.RedisTime.Now().UnixMilli()
	body.LastError, body.LastReason = why.Message, why.Reason
	if state == job.Unknown { // the interrupted send counts as an attempt
		body.Attempts++
		body.History = job.AppendHistory(body.History, job.Attempt{EndedMs: now, Error: why.Message, Reason: why.Reason})
	}
	record := job.RecordOf(body, state, now)
	end := worker.Ending(j.IDs, s.ID, body, &record)
	s.Op, s.Payload, s.Callbacks = end.Op, end.Payload, end.Callbacks
}
