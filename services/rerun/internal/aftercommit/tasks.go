// Package aftercommit does the work after a commit, in the background. It deletes archived documents, sets the cache
// entry of a report by its flag, and refreshes the patient's search document. A failure does not fail the caller: the
// sweeper repairs the first two within a minute, change capture the last.
package aftercommit

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Names of the tasks, as metrics use them.
const (
	cleanup = "cleanup"
	cache   = "cache"
	index   = "index"
)

// Names returns all task names, for metrics that exist from the start.
func Names() []string { return []string{cleanup, cache, index} }

// Queue runs tasks in the background. Tasks of one key run in order. See pkg/aftercommit.
type Queue interface {
	Do(ctx context.Context, key int64, name string, work func(context.Context) error)
}

// Flags reads the committed flag of a report.
type Flags interface {
	Flag(ctx context.Context, scope authn.LabScope, reportID int64) (rerun.Flag, error)
}

// OpenSet is the cache hash of reports with an open rerun.
type OpenSet interface {
	Set(ctx context.Context, scope authn.LabScope, reportID int64, open bool) error
}

// Index asks for the patient's search document to be refreshed.
type Index interface {
	SyncUser(ctx context.Context, scope authn.LabScope, patientID int64) error
}

// Documents deletes archived documents; missing ones are ignored.
type Documents interface {
	Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error
}

// Deps holds the dependencies of the tasks.
type Deps struct {
	Queue     Queue
	Flags     Flags
	OpenSet   OpenSet
	Documents Documents
	Index     Index
}

// Tasks queues the work after a commit.
type Tasks struct{ d Deps }

// New returns tasks with the dependencies d.
func New(d Deps) *Tasks { return &Tasks{d: d} }

// Flagged queues the task after a change of the flag: it sets or removes the cache entry, by the flag at the time of
// the task.
func (t *Tasks) Flagged(ctx context.Context, scope authn.LabScope, reportID int64) {
	t.d.Queue.Do(ctx, reportID, cache, func(ctx context.Context) error {
		flag, err := t.d.Flags.Flag(ctx, scope, reportID)
		if err != nil {
			return fmt.Errorf("read flag of report %d again: %w", reportID, err)
		}
		return t.d.OpenSet.Set(ctx, scope, reportID, flag.Open())
	})
}

// Changed queues the tasks after a request: the cache entry of the report, and the patient's search document.
func (t *Tasks) Changed(ctx context.Context, scope authn.LabScope, reportID, patientID int64) {
	t.Flagged(ctx, scope, reportID)
	t.d.Queue.Do(ctx, reportID, index, func(ctx context.Context) error {
		return t.d.Index.SyncUser(ctx, scope, patientID)
	})
}

// Ended queues the tasks after a confirm or an abort, which also delete the archived documents.
func (t *Tasks) Ended(ctx context.Context, scope authn.LabScope, report rerun.Report, archived rerun.Writes) {
	t.d.Queue.Do(ctx, report.ID, cleanup, func(ctx context.Context) error {
		if err := t.d.Documents.Write(ctx, scope, archived); err != nil {
			return fmt.Errorf("delete archived documents of report %d: %w", report.ID, err)
		}
		return nil
	})
	t.Changed(ctx, scope, report.ID, report.PatientID)
}
