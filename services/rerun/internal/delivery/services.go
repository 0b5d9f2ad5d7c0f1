package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
)

// editorTimeout is how long a response waits for a warning.
const editorTimeout = time.Second

// Editors reads the editing sessions of external editing; without a client there are none.
type Editors struct {
	Client externaleditv1.ExternalEditServiceClient
	Log    *slog.Logger
}

// Editor returns the author of an open session, empty without one. The rerun is closed already, so a failed request is
// only logged.
func (e Editors) Editor(ctx context.Context, scope authn.LabScope, reportID int64) string {
	if e.Client == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, editorTimeout)
	defer cancel()
	open, err := e.Client.HasOpenSession(ctx, &externaleditv1.HasOpenSessionRequest{LabId: scope.LabID(),
		LabReportIds: []int64{reportID}})
	if err != nil {
		e.Log.WarnContext(ctx, "editing sessions not read, caller not warned of an open report", "error", err)
		return ""
	}
	for _, s := range open.GetSessions() {
		return s.GetAuthorName()
	}
	return ""
}

// Index asks the change-capture service for a fresh search document; without a client it does nothing, for
// deployments that have no search.
type Index struct {
	Client cdcv1.ChangeCaptureServiceClient
}

// SyncUser returns when the document is written, or an error.
func (i Index) SyncUser(ctx context.Context, scope authn.LabScope, patientID int64) error {
	if i.Client == nil {
		return nil
	}
	_, err := i.Client.SyncUsers(ctx, &cdcv1.SyncUsersRequest{LabId: scope.LabID(), UserIds: []int64{patientID}})
	if err != nil {
		return fmt.Errorf("sync user: %w", err)
	}
	return nil
}
