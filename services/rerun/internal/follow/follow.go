// Package follow owns what happens behind a commit and may fail without failing the caller: the cache entry of a
// report is made to agree with its flag, and the search index is asked to refresh the patient.
package follow

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// timeout bounds the work behind a commit; it goes on when the caller has left.
const timeout = 3 * time.Second

// Flags reads flags as they are committed now.
type Flags interface {
	Flag(ctx context.Context, scope authn.LabScope, reportID int64) (rerun.Flag, error)
}

// OpenSet is the cache hash of reports with an open rerun.
type OpenSet interface {
	Set(ctx context.Context, scope authn.LabScope, reportID int64, open bool) error
}

// Index asks for the patient's search document to be refreshed; best effort.
type Index interface {
	SyncUser(ctx context.Context, scope authn.LabScope, patientID int64) error
}

// Counters counts failures.
type Counters interface {
	Failed(step string)
}

// Deps is what Follow works with.
type Deps struct {
	Flags    Flags
	OpenSet  OpenSet
	Index    Index
	Log      *slog.Logger
	Counters Counters
}

// Follow does what follows a commit.
type Follow struct{ d Deps }

// New returns a Follow.
func New(d Deps) *Follow { return &Follow{d: d} }

// Flagged follows a change of the flag: the cache entry is set or removed. The sweeper repairs what fails here.
func (f *Follow) Flagged(ctx context.Context, scope authn.LabScope, reportID int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := f.cache(ctx, scope, reportID); err != nil {
		f.d.Counters.Failed("cache")
		f.d.Log.Error("rerun cache not updated", "lab_report_id", reportID, "error", err)
	}
}

func (f *Follow) cache(ctx context.Context, scope authn.LabScope, reportID int64) error {
	flag, err := f.d.Flags.Flag(ctx, scope, reportID)
	if err != nil {
		return fmt.Errorf("read flag again: %w", err)
	}
	return f.d.OpenSet.Set(ctx, scope, reportID, flag.Open())
}

// Changed follows a request, a confirm or an abort: the flag, and the patient's search document. What fails
// there is repaired by change capture.
func (f *Follow) Changed(ctx context.Context, scope authn.LabScope, reportID, patientID int64) {
	f.Flagged(ctx, scope, reportID)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := f.d.Index.SyncUser(ctx, scope, patientID); err != nil {
		f.d.Counters.Failed("index")
		f.d.Log.Warn("search index not asked to refresh", "lab_report_id", reportID, "error", err)
	}
}
