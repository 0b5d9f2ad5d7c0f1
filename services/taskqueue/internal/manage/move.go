package manage

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// moveTries bounds how often a job may change between the look at it and its move.
const moveTries = 20

var errChanging = errors.New("the job changed at every look")

// Reschedule moves a waiting job and reports whether it could.
func (m *Manager) Reschedule(ctx context.Context, v Viewer, id string, at time.Time) (bool, error) {
	if at.After(m.Clock.Now().Add(task.Horizon)) {
		return false, apperr.InvalidField("resc_at", "resc_at is more than a year ahead; reschedule the task later")
	}
	for range moveTries {
		list, err := m.find(ctx, v, []string{id})
		if err != nil || list[0] == nil || list[0].record != nil {
			return false, err
		}
		if list[0].body.ExpiresMs > 0 && at.After(m.Clock.Now().Add(task.PasswordHorizon)) {
			return false, apperr.InvalidField("resc_at", "a one-time password is scheduled at most an hour ahead")
		}
		moved, err := m.Queue.Reschedule(ctx, move(list[0], at.UnixMilli()))
		if err != nil {
			return false, unavailable(err)
		}
		if moved != engine.MoveChanged {
			return moved == engine.MoveDone, nil
		}
	}
	return false, unavailable(errChanging)
}

// move plans the new times of a job. What is not worth sending after a time, a one-time password, gets as much more
// time as its start is later.
func move(f *found, due int64) engine.Move {
	s := &f.snapshot
	body := *f.body
	body.ScheduledMs = due
	if body.ExpiresMs > 0 {
		body.ExpiresMs += max(due, s.NowMs) - s.DueMs
	}
	return engine.Move{
		ID:       s.ID,
		DueMs:    due,
		Observed: s.Body,
		Body:     body.Encode(nil),
		Window:   body.Window(s.ID.Lane().Priority),
	}
}
