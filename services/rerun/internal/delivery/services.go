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

// editorTimeout is the maximum delay of a response for a warning about an editor.
const editorTimeout = time.Second

// Editors reads the editing sessions of external editing. Without a client, it finds none.
type Editors struct {
	Client externaleditv1.ExternalEditServiceClient
	Log    *slog.Logger
}

// Editor returns the author of an open session; "" without one. The rerun is closed already, so an error is only
// logged.
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

// Index requests a fresh search document from change capture. Without a client, for deployments without search, it does
// nothing.
type Index struct {
	Client cdcv1.ChangeCaptureServiceClient
}

// SyncUser returns after the document was written, or an error.
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
