package manage

import (
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// RetryFailed revives failed jobs after the documented delay; it returns the ids that will run and the others. A job
// that was revived before and did not run since counts as one that will: a repeat after a lost answer says the same.
func (m *Manager) RetryFailed(ctx context.Context, v Viewer, ids []string) (revived, notFound []string, err error) {
	list, err := m.find(ctx, v, ids)
	if err != nil {
		return nil, nil, err
	}
	var asked []engine.Revival
	var at []int
	will := make([]bool, len(ids))
	for i, f := range list {
		if mayRevive(f) {
			asked, at = append(asked, m.revival(f)), append(at, i)
		}
		will[i] = waitsRevived(f)
	}
	if len(asked) > 0 {
		answers, err := m.Queue.RetryFailed(ctx, asked, job.RevivalDelay)
		if err != nil {
			return nil, nil, unavailable(err)
		}
		for i, p := range at {
			will[p] = answers[i]
		}
	}
	for i, id := range ids {
		if will[i] {
			revived = append(revived, id)
		} else {
			notFound = append(notFound, id)
		}
	}
	return revived, notFound, nil
}

func mayRevive(f *found) bool {
	return f != nil && f.record != nil && f.record.State == job.Failed && f.body != nil
}

func waitsRevived(f *found) bool {
	return f != nil && f.snapshot.Place == engine.PlaceLane && f.body != nil && f.body.Nonce > 0 && f.body.Attempts == 0
}

func (m *Manager) revival(f *found) engine.Revival {
	body := *f.body
	body.Attempts, body.StartedMs, body.LastError, body.LastReason, body.History = 0, 0, "", "", nil
	body.Nonce++
	body.Progress = f.record.Progress // of the last attempt, after which the body was not written again
	body.ScheduledMs = m.Clock.Now().Add(job.RevivalDelay).UnixMilli()
	return engine.Revival{
		ID:       f.snapshot.ID,
		Body:     body.Encode(nil),
		Observed: f.snapshot.Record,
		Window:   body.Window(f.snapshot.ID.Lane().Priority),
	}
}
