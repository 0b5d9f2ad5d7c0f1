package manage

import (
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// View is one job as people see it. Times are milliseconds, 0 when they do not apply. The payload is left out:
// it holds phone numbers and one-time passwords.
type View struct {
	ID              job.ID
	Record          job.Record // State and everything that a finished job keeps
	Priority        job.Priority
	CancelRequested bool
}

// Info returns the jobs in the order of the ids; nil for those that are not found.
func (m *Manager) Info(ctx context.Context, v Viewer, ids []string) ([]*View, error) {
	list, err := m.find(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	views := make([]*View, len(list))
	for i, f := range list {
		if f != nil {
			views[i] = m.view(f)
		}
	}
	return views, nil
}

func (m *Manager) view(f *found) *View {
	s := f.snapshot
	view := &View{ID: s.ID, Priority: s.ID.Lane().Priority, CancelRequested: s.CancelRequested}
	if f.record != nil {
		view.Record = *f.record
		return view
	}
	switch s.Place {
	case engine.PlaceLease:
		view.Record = job.RecordOf(f.body, job.Started, 0)
		view.Record.StartedMs = s.ClaimedMs
		if s.ClaimedMs == 0 {
			view.Record.StartedMs = s.DeadlineMs - m.Lease.Milliseconds()
		}
	default:
		view.Record = job.RecordOf(f.body, job.WaitingState(s.DueMs, s.NowMs, f.body.Attempts), 0)
		if view.Record.State == job.Scheduled {
			view.Record.ScheduledMs = s.DueMs // a move changes nothing but this
		}
	}
	return view
}
