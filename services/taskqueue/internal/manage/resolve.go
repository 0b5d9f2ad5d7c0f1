package manage

import (
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const notSent = "An operator found that the message was not sent"

// Resolve ends jobs of state unknown as what an operator found out about them: sent makes them finished, otherwise they
// failed and may be retried. It returns the ids that it resolved and those of jobs that are not unknown.
func (m *Manager) Resolve(
	ctx context.Context, v Viewer, ids []string, sent bool,
) (resolved, others []string, err error) {
	list, err := m.find(ctx, v, ids)
	if err != nil {
		return nil, nil, err
	}
	for i, f := range list {
		ok, err := m.resolve(ctx, f, sent)
		if err != nil {
			return resolved, others, err
		}
		if ok {
			resolved = append(resolved, ids[i])
		} else {
			others = append(others, ids[i])
		}
	}
	return resolved, others, nil
}

func (m *Manager) resolve(ctx context.Context, f *found, sent bool) (bool, error) {
	if f == nil || f.record == nil || f.record.State != job.Unknown || f.body == nil {
		return false, nil
	}
	record := *f.record
	record.State, record.Error, record.Reason = job.Failed, notSent, "not_sent"
	record.EndedMs = m.Clock.Now().UnixMilli()
	if sent {
		record.State, record.Error, record.Reason = job.Finished, "", ""
		// The attempt that nobody knew the end of was the successful one, which the history leaves out.
		record.History = record.History[:max(0, len(record.History)-1)]
	}
	children, err := m.Callbacks(f.snapshot.ID, f.body, &record)
	if err != nil {
		return false, err
	}
	ok, err := m.Queue.Resolve(ctx, engine.Resolution{
		ID:        f.snapshot.ID,
		Observed:  f.snapshot.Record,
		Record:    record.Encode(nil),
		Sent:      sent,
		Callbacks: children,
	})
	if err != nil {
		return false, unavailable(err)
	}
	return ok, nil
}
