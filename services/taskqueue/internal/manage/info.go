package manage

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
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

// Info returns the jobs in the order of the ids; nil for those that are not found. Jobs that Redis has forgotten
// come from the archive; when it does not answer, nobody can say that they do not exist.
func (m *Manager) Info(ctx context.Context, v Viewer, ids []string) ([]*View, error) {
	list, err := m.find(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	if err := m.recall(ctx, v, ids, list); err != nil {
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

// recall looks up in the archive what was not found.
func (m *Manager) recall(ctx context.Context, v Viewer, texts []string, list []*found) error {
	if m.Archive == nil {
		return nil
	}
	var ids []job.ID
	for i, text := range texts {
		if id, err := job.ParseID(text); err == nil && list[i] == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	records, err := m.Archive.Find(ctx, ids)
	if err != nil {
		return apperr.New(apperr.Unavailable, "ARCHIVE_UNAVAILABLE", "A job may be in the archive, which does not answer; try again in a few seconds").
			WithRetryAfter(5 * time.Second).
			WithCause(err)
	}
	for i, text := range texts {
		if r := records[job.ID(text)]; list[i] == nil && r != nil && v.sees(r.LabID) {
			list[i] = &found{snapshot: engine.Snapshot{ID: job.ID(text), Place: engine.PlaceResult}, record: r}
		}
	}
	return nil
}
