package manage

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Changed divides the ids in a request that changes jobs by result.
type Changed struct {
	Done      []string
	Requested []string // running jobs that were requested to end
	Others    []string // not found, or not in a suitable state
}

func sorted(ids []string, done map[string]bool) (c Changed) {
	for _, id := range ids {
		if done[id] {
			c.Done = append(c.Done, id)
		} else {
			c.Others = append(c.Others, id)
		}
	}
	return c
}

// Cancel ends waiting jobs and requests running ones to stop. A finished job counts as not found.
func (m *Jobs) Cancel(ctx context.Context, c task.Caller, ids []string) (out Changed, err error) {
	list, err := m.Find(ctx, c, ids)
	if err != nil {
		return out, err
	}
	var asked []engine.Cancellation
	for i, j := range list {
		if j == nil || j.ended() {
			out.Others = append(out.Others, ids[i])
			continue
		}
		asked = append(asked, m.cancellation(j))
	}
	answers, err := m.Queue.Cancel(ctx, asked)
	if err != nil {
		return out, engine.Unavailable(err)
	}
	for i, answer := range answers {
		to := &out.Others
		switch answer {
		case engine.CancelDone:
			to = &out.Done
		case engine.CancelRequested:
			to = &out.Requested
		}
		*to = append(*to, string(asked[i].ID))
	}
	return out, nil
}

func (m *Jobs) cancellation(j *Job) engine.Cancellation {
	record := job.RecordOf(j.Body, job.Cancelled, m.Clock.Now().UnixMilli())
	if j.Place == engine.PlaceLane && j.DueMs > j.NowMs && j.Body.Attempts == 0 {
		record.ScheduledMs = j.DueMs // a postponed job is due later than its body states
	}
	children := worker.Callbacks(m.IDs, j.ID, j.Body, &record)
	return engine.Cancellation{ID: j.ID, Record: record.Encode(nil), Callbacks: children}
}

// moveTries is how often a move is retried if the job changes between read and move.
const moveTries = 20

var errChanging = errors.New("the job changed at every look")

// Reschedule moves a waiting job and reports whether this was possible.
func (m *Jobs) Reschedule(ctx context.Context, c task.Caller, id string, at time.Time) (bool, error) {
	if at.After(m.Clock.Now().Add(task.Horizon)) {
		return false, apperr.InvalidField("resc_at", "resc_at is more than a year ahead; reschedule the task later")
	}
	for range moveTries {
		list, err := m.Find(ctx, c, []string{id})
		if err != nil || list[0] == nil || list[0].ended() {
			return false, err
		}
		if list[0].Body.ExpiresMs > 0 && at.After(m.Clock.Now().Add(task.PasswordHorizon)) {
			return false, apperr.InvalidField("resc_at", "a one-time password is scheduled at most an hour ahead")
		}
		moved, err := m.Queue.Reschedule(ctx, list[0].move(at.UnixMilli()))
		if err != nil {
			return false, engine.Unavailable(err)
		}
		if moved != engine.MoveChanged {
			return moved == engine.MoveDone, nil
		}
	}
	return false, engine.Unavailable(errChanging)
}

// move returns the move of a job to a new due time; one in the past means now. The expiry of a one-time password is
// moved by the same amount, counted from the time for which it was accepted: a job that waits for its provider is in
// its lane until it expires.
func (j *Job) move(due int64) engine.Move {
	body := *j.Body
	due = max(due, j.NowMs)
	if body.ExpiresMs > 0 {
		body.ExpiresMs += due - max(body.CreatedMs, body.ScheduledMs)
	}
	body.ScheduledMs = due
	return engine.Move{ID: j.ID, DueMs: due, Observed: j.Snapshot.Body, Body: body.Encode(nil),
		Window: body.Window(j.ID.Lane().Priority)}
}

// RetryFailed retries failed jobs after the documented delay. A job that was already retried and has not run since
// counts as retried now, so that a repeat after a lost response returns the same result.
func (m *Jobs) RetryFailed(ctx context.Context, c task.Caller, ids []string) (Changed, error) {
	list, err := m.Find(ctx, c, ids)
	if err != nil {
		return Changed{}, err
	}
	var asked []engine.Revival
	will := map[string]bool{}
	for _, j := range list {
		switch {
		case j == nil:
		case j.ended() && j.Record.State == job.Failed && j.Body != nil:
			asked = append(asked, m.revival(j))
		default:
			will[string(j.ID)] = j.Place == engine.PlaceLane && j.Body.Nonce > 0 && j.Body.Attempts == 0
		}
	}
	answers, err := m.Queue.RetryFailed(ctx, asked, job.RevivalDelay)
	if err != nil {
		return Changed{}, engine.Unavailable(err)
	}
	for i, revived := range answers {
		will[string(asked[i].ID)] = revived
	}
	return sorted(ids, will), nil
}

func (m *Jobs) revival(j *Job) engine.Revival {
	body := *j.Body
	body.Attempts, body.StartedMs, body.LastError, body.LastReason, body.History = 0, 0, "", "", nil
	body.Nonce++
	body.Progress = j.Record.Progress // the record has the progress of the last attempt, which the body lacks
	body.ScheduledMs = m.Clock.Now().Add(job.RevivalDelay).UnixMilli()
	return engine.Revival{ID: j.ID, Body: body.Encode(nil), Observed: j.Snapshot.Record,
		Window: body.Window(j.ID.Lane().Priority)}
}

const notSent = "An operator found that the message was not sent"

// Resolve ends jobs in state unknown with the outcome found by an operator. With sent they become finished, otherwise
// failed, and may be retried.
func (m *Jobs) Resolve(ctx context.Context, c task.Caller, ids []string, sent bool) (Changed, error) {
	list, err := m.Find(ctx, c, ids)
	if err != nil {
		return Changed{}, err
	}
	done := map[string]bool{}
	for i, j := range list {
		if j.ended() && j.Record.State == job.Unknown && j.Body != nil {
			if done[ids[i]], err = m.resolve(ctx, j, sent); err != nil {
				return sorted(ids[:i], done), err
			}
		}
	}
	return sorted(ids, done), nil
}

func (m *Jobs) resolve(ctx context.Context, j *Job, sent bool) (bool, error) {
	record := j.Record
	record.State, record.Error, record.Reason = job.Failed, notSent, "not_sent"
	record.EndedMs = m.Clock.Now().UnixMilli()
	if sent {
		record.State, record.Error, record.Reason = job.Finished, "", ""
		// The attempt with the unknown outcome was the successful one, which the history does not include.
		record.History = record.History[:max(0, len(record.History)-1)]
	}
	children := worker.Callbacks(m.IDs, j.ID, j.Body, &record)
	ok, err := m.Queue.Resolve(ctx, engine.Resolution{ID: j.ID, Observed: j.Snapshot.Record, Record: record.Encode(nil),
		Sent: sent, Callbacks: children})
	if err != nil {
		return false, engine.Unavailable(err)
	}
	return ok, nil
}
