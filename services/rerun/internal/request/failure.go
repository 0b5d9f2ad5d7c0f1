package request

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// afterTimeout limits the write of the log entry about a failure, which is made even if the caller has disconnected.
const afterTimeout = 3 * time.Second

// failure returns errors of the caller unchanged. It logs any other error as entry 984 and returns ErrSave.
func (u *UseCase) failure(ctx context.Context, scope authn.LabScope, c Command, err error) error {
	switch apperr.KindOf(err) {
	case apperr.Invalid, apperr.NotFound, apperr.Conflict, apperr.Forbidden:
		return err
	}
	u.d.Counters.Failed("save")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTimeout)
	defer cancel()
	entry := activitylog.Entry{
		Category: activitylog.RerunFailed, Text: "Sample rerun could not be saved", Actor: c.Actor, At: u.d.Clock.Now(),
		Meta: map[string]any{"type": c.Type, "requested_parameters": c.Requested,
			"outcome_unknown": errors.Is(err, mysqldb.ErrCommitUnknown)},
	}
	if logErr := u.d.Reports.LogFailure(ctx, scope, c.ReportID, entry); logErr != nil {
		u.d.Log.Error("failed rerun not recorded in the activity log", "lab_report_id", c.ReportID, "error", logErr)
	}
	return ErrSave.WithCause(fmt.Errorf("save rerun of report %d: %w", c.ReportID, err))
}
