package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
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
