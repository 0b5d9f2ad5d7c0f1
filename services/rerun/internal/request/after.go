package request

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// afterTimeout bounds the work behind a commit; it goes on when the caller has left.
const afterTimeout = 3 * time.Second

// follow makes the cache and the search index agree with what was committed. Neither fails the request: the
// cache is repaired by the next change of the report, the index by change capture.
func (u *UseCase) follow(ctx context.Context, scope authn.LabScope, reportID, patientID int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTimeout)
	defer cancel()
	if err := u.cache(ctx, scope, reportID); err != nil {
		u.d.Counters.Failed("cache")
		u.d.Log.Error("rerun cache not updated", "lab_report_id", reportID, "error", err)
	}
	if err := u.d.Index.SyncUser(ctx, scope, patientID); err != nil {
		u.d.Counters.Failed("index")
		u.d.Log.Warn("search index not asked to refresh", "lab_report_id", reportID, "error", err)
	}
}

func (u *UseCase) cache(ctx context.Context, scope authn.LabScope, reportID int64) error {
	flag, err := u.d.Reports.Flag(ctx, scope, reportID)
	if err != nil {
		return fmt.Errorf("read flag again: %w", err)
	}
	return u.d.OpenSet.Set(ctx, scope, reportID, flag.Open())
}

// failure passes on what the caller did wrong; everything else was a failure to save, which is logged as 984.
func (u *UseCase) failure(ctx context.Context, scope authn.LabScope, c Command, err error) error {
	switch apperr.KindOf(err) {
	case apperr.Invalid, apperr.NotFound, apperr.Conflict, apperr.Forbidden:
		return err
	}
	u.d.Counters.Failed("save")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTimeout)
	defer cancel()
	entry := rerun.Entry{
		Category: rerun.RerunFailed, Text: "Sample rerun could not be saved", Actor: c.Actor, At: u.d.Clock.Now(),
		Meta: map[string]any{"type": c.Type, "requested_parameters": c.Requested,
			"outcome_unknown": errors.Is(err, mysqldb.ErrCommitUnknown)},
	}
	if logErr := u.d.Reports.LogFailure(ctx, scope, c.ReportID, entry); logErr != nil {
		u.d.Log.Error("failed rerun not recorded in the activity log", "lab_report_id", c.ReportID, "error", logErr)
	}
	return ErrSave.WithCause(fmt.Errorf("save rerun of report %d: %w", c.ReportID, err))
}
