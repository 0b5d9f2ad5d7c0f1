package closing

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Abort closes the rerun and keeps the report's values. Errors: NotFound, Conflict when none is open, Unavailable.
func (u *UseCase) Abort(ctx context.Context, scope authn.LabScope, reportID int64, actor authn.Actor) error {
	err := u.end(ctx, scope, reportID, func(e *ending, s *rerun.Snapshot) error {
		_, err := e.locked.Log(ctx, activitylog.Entry{
			Category: activitylog.RerunCancelled, Text: "Sample rerun aborted", Actor: actor, At: u.d.Clock.Now(), Meta: s,
		})
		return err
	})
	if err == nil {
		u.d.Counters.Closed(false)
	}
	return err
}
