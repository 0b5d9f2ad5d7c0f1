package manage

import (
	"context"

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
