// Package manage owns what people do to jobs that exist: look, cancel, move, revive. Every operation checks
// that the job belongs to who asks; somebody else's job is a job that does not exist.
package manage

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Queue is the part of the engine that manages jobs.
type Queue interface {
	Info(context.Context, []job.ID) ([]engine.Snapshot, error)
	Cancel(context.Context, []engine.Cancellation) ([]engine.Cancelled, error)
	Reschedule(context.Context, engine.Move) (engine.Moved, error)
	Resolve(context.Context, engine.Resolution) (bool, error)
	RetryFailed(ctx context.Context, list []engine.Revival, delay time.Duration) ([]bool, error)
}

// Archive knows jobs that Redis has forgotten.
type Archive interface {
	Find(ctx context.Context, ids []job.ID) (map[job.ID]*job.Record, error)
}

// MaxIDs is the most jobs of one request.
const MaxIDs = 1000

// Viewer is who asks. All sees every job, otherwise those of LabID.
type Viewer struct {
	LabID int64
	All   bool
}

func (v Viewer) sees(lab int64) bool { return v.All || lab == v.LabID }

// CallbackMaker builds the callback jobs of a job that ended.
type CallbackMaker func(id job.ID, b *job.Body, r *job.Record) ([]engine.NewJob, error)

// Deps are what the use cases work with.
type Deps struct {
	Queue     Queue
	Archive   Archive // nil: there is none
	Lease     time.Duration
	Clock     clock.Clock
	Callbacks CallbackMaker
}

// Manager runs the use cases. Safe for concurrent use.
type Manager struct{ Deps }

// New makes a manager.
func New(deps Deps) *Manager { return &Manager{Deps: deps} }

// found is a job that the viewer may see.
type found struct {
	snapshot engine.Snapshot
	body     *job.Body   // nil when finished, unless it is kept dead
	record   *job.Record // nil while it lives
}

// find looks the texts up; entries stay nil for what does not exist or is not the viewer's.
func (m *Manager) find(ctx context.Context, v Viewer, texts []string) ([]*found, error) {
	if len(texts) == 0 {
		return nil, apperr.InvalidField("job_id", "no job is named")
	}
	if len(texts) > MaxIDs {
		return nil, apperr.InvalidField("job_id", fmt.Sprintf("a request names at most %d jobs", MaxIDs))
	}
	list := make([]*found, len(texts))
	var ids []job.ID
	var at []int
	for i, text := range texts {
		if id, err := job.ParseID(text); err == nil {
			ids, at = append(ids, id), append(at, i)
		}
	}
	if len(ids) == 0 {
		return list, nil
	}
	snapshots, err := m.Queue.Info(ctx, ids)
	if err != nil {
		return nil, unavailable(err)
	}
	for i, s := range snapshots {
		list[at[i]], err = m.open(v, s)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (m *Manager) open(v Viewer, s engine.Snapshot) (*found, error) {
	if s.Place == engine.PlaceNone {
		return nil, nil
	}
	f := &found{snapshot: s}
	var err error
	if s.Body != nil {
		if f.body, err = job.DecodeBody(s.Body); err != nil {
			return nil, fmt.Errorf("read job %s: %w", s.ID, err)
		}
	}
	if s.Record != nil {
		if f.record, err = job.DecodeRecord(s.Record); err != nil {
			return nil, fmt.Errorf("read result of job %s: %w", s.ID, err)
		}
	}
	switch {
	case f.record != nil && v.sees(f.record.LabID), f.record == nil && f.body != nil && v.sees(f.body.LabID):
		return f, nil
	}
	return nil, nil
}

func unavailable(err error) error {
	return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The queue cannot be reached; try again in a few seconds").
		WithRetryAfter(5 * time.Second).WithCause(err)
}
