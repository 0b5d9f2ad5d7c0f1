package manage

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// CancelOutcome sorts the ids of a cancel request.
type CancelOutcome struct {
	Cancelled, Requested, NotFound []string
}

// Cancel ends waiting jobs and asks running ones to stop. A finished job counts as not found.
func (m *Manager) Cancel(ctx context.Context, v Viewer, ids []string) (CancelOutcome, error) {
	var out CancelOutcome
	list, err := m.find(ctx, v, ids)
	if err != nil {
		return out, err
	}
	var asked []engine.Cancellation
	var names []string
	for i, f := range list {
		if f == nil || f.record != nil {
			out.NotFound = append(out.NotFound, ids[i])
			continue
		}
		c, err := m.cancellation(f)
		if err != nil {
			return out, err
		}
		asked, names = append(asked, c), append(names, ids[i])
	}
	if len(asked) == 0 {
		return out, nil
	}
	answers, err := m.Queue.Cancel(ctx, asked)
	if err != nil {
		return out, unavailable(err)
	}
	for i, a := range answers {
		switch a {
		case engine.CancelDone:
			out.Cancelled = append(out.Cancelled, names[i])
		case engine.CancelRequested:
			out.Requested = append(out.Requested, names[i])
		default:
			out.NotFound = append(out.NotFound, names[i])
		}
	}
	return out, nil
}

func (m *Manager) cancellation(f *found) (engine.Cancellation, error) {
	record := job.RecordOf(f.body, job.Cancelled, m.Clock.Now().UnixMilli())
	if s := f.snapshot; s.Place == engine.PlaceLane && s.DueMs > s.NowMs && f.body.Attempts == 0 {
		record.ScheduledMs = s.DueMs // it may have been moved
	}
	children, err := m.Callbacks(f.snapshot.ID, f.body, &record)
	return engine.Cancellation{ID: f.snapshot.ID, Record: record.Encode(nil), Callbacks: children}, err
}

// Reschedule moves a waiting job and reports whether it could.
func (m *Manager) Reschedule(ctx context.Context, v Viewer, id string, at time.Time) (bool, error) {
	list, err := m.find(ctx, v, []string{id})
	if err != nil || list[0] == nil || list[0].record != nil {
		return false, err
	}
	moved, err := m.Queue.Reschedule(ctx, job.ID(id), at.UnixMilli())
	if err != nil {
		return false, unavailable(err)
	}
	return moved == engine.MoveDone, nil
}

// RetryFailed revives failed jobs after the documented delay; it returns the ids that will run and the others.
func (m *Manager) RetryFailed(ctx context.Context, v Viewer, ids []string) (revived, notFound []string, err error) {
	list, err := m.find(ctx, v, ids)
	if err != nil {
		return nil, nil, err
	}
	for i, f := range list {
		ok, err := m.revive(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			revived = append(revived, ids[i])
		} else {
			notFound = append(notFound, ids[i])
		}
	}
	return revived, notFound, nil
}

func (m *Manager) revive(ctx context.Context, f *found) (bool, error) {
	if f == nil || f.record == nil || f.record.State != job.Failed || f.body == nil {
		return false, nil
	}
	body := *f.body
	body.Attempts, body.StartedMs, body.LastError, body.History = 0, 0, "", nil
	body.Nonce++
	body.ScheduledMs = m.Clock.Now().Add(job.RevivalDelay).UnixMilli()
	ok, err := m.Queue.RetryFailed(ctx, f.snapshot.ID, body.Encode(nil), f.snapshot.Record, job.RevivalDelay)
	if err != nil {
		return false, unavailable(err)
	}
	return ok, nil
}
