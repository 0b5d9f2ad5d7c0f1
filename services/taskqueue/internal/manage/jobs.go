// Package manage reads, cancels, moves and retries existing jobs.
package manage

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Managing is the part of the engine that changes existing jobs.
type Managing interface {
	Info(context.Context, []job.ID) ([]engine.Snapshot, error)
	Cancel(context.Context, []engine.Cancellation) ([]engine.Cancelled, error)
	Reschedule(context.Context, engine.Move) (engine.Moved, error)
	Resolve(context.Context, engine.Resolution) (bool, error)
	RetryFailed(ctx context.Context, list []engine.Revival, delay time.Duration) ([]bool, error)
}

// Archive holds jobs that are no longer in Redis.
type Archive interface {
	Find(ctx context.Context, ids []job.ID) (map[job.ID]*job.Record, error)
}

// MaxIDs is the maximum number of jobs in one request.
const MaxIDs = 1000

// Jobs reads, cancels, moves and retries existing jobs. Every operation checks that the job belongs to the caller's
// laboratory; another laboratory's job is treated as missing. It is safe for concurrent use.
type Jobs struct {
	Queue   Managing
	Archive Archive // nil without an archive
	Lease   time.Duration
	Clock   clock.Clock
	IDs     *job.Generator // for ids of callback jobs
}

// Job is one job. The body contains phone numbers and one-time passwords and is never shown to callers.
type Job struct {
	engine.Snapshot
	Record job.Record // for an ended job the stored record, for any other job its present state
	Body   *job.Body  // nil if the job has ended and is not kept as a dead letter
}

func (j *Job) ended() bool { return j != nil && j.Place == engine.PlaceResult }

// Info returns the jobs in the order of the ids; nil for unknown ones. Jobs that are no longer in Redis are read from
// the archive. If the archive is unavailable, Info returns an error, because a missing job could be there.
func (m *Jobs) Info(ctx context.Context, c task.Caller, ids []string) ([]*Job, error) {
	list, err := m.Find(ctx, c, ids)
	if err != nil || m.Archive == nil {
		return list, err
	}
	var missing []job.ID
	for i, text := range ids {
		if id, err := job.ParseID(text); err == nil && list[i] == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return list, nil
	}
	records, err := m.Archive.Find(ctx, missing)
	if err != nil {
		return nil, apperr.New(apperr.Unavailable, "ARCHIVE_UNAVAILABLE", "A job may be in the archive, which does not answer; try again in a few seconds").
			WithRetryAfter(engine.RetryAfter).WithCause(err)
	}
	for i, text := range ids {
		if r := records[job.ID(text)]; list[i] == nil && r != nil && c.Sees(r.LabID) {
			list[i] = &Job{Snapshot: engine.Snapshot{ID: job.ID(text), Place: engine.PlaceResult}, Record: *r}
		}
	}
	return list, nil
}

// Find reads jobs only from Redis. Entries are nil for jobs that are missing or belong to another laboratory.
func (m *Jobs) Find(ctx context.Context, c task.Caller, texts []string) ([]*Job, error) {
	if len(texts) == 0 {
		return nil, apperr.InvalidField("job_id", "no job is named")
	}
	if len(texts) > MaxIDs {
		return nil, apperr.InvalidField("job_id", fmt.Sprintf("a request names at most %d jobs", MaxIDs))
	}
	list := make([]*Job, len(texts))
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
		return nil, engine.Unavailable(err)
	}
	for i, s := range snapshots {
		one, err := m.read(s)
		if err != nil {
			return nil, err
		}
		if one != nil && c.Sees(one.Record.LabID) {
			list[at[i]] = one
		}
	}
	return list, nil
}

// read decodes a snapshot; nil if the job is unknown.
func (m *Jobs) read(s engine.Snapshot) (*Job, error) {
	if s.Place == engine.PlaceNone || (s.Body == nil && s.Record == nil) {
		return nil, nil
	}
	j := &Job{Snapshot: s}
	var err error
	if s.Body != nil {
		if j.Body, err = job.DecodeBody(s.Body); err != nil {
			return nil, fmt.Errorf("read job %s: %w", s.ID, err)
		}
	}
	switch s.Place {
	case engine.PlaceResult:
		record, err := job.DecodeRecord(s.Record)
		if err != nil {
			return nil, fmt.Errorf("read result of job %s: %w", s.ID, err)
		}
		j.Record = *record
	case engine.PlaceLease:
		j.Record = job.RecordOf(j.Body, job.Started, 0)
		j.Record.StartedMs = s.ClaimedMs
		if s.ClaimedMs == 0 {
			j.Record.StartedMs = s.DeadlineMs - m.Lease.Milliseconds()
		}
	default:
		j.Record = job.RecordOf(j.Body, job.WaitingState(s.DueMs, s.NowMs, j.Body.Attempts), 0)
		if j.Record.State == job.Scheduled {
			j.Record.ScheduledMs = s.DueMs // a postponement changes only the due time
		}
	}
	return j, nil
}
