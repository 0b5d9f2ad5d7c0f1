package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
)

// editorTimeout is how long an answer waits for a warning.
const editorTimeout = time.Second

// Editors asks external editing who has a report open; without a client no one does.
type Editors struct {
	Client externaleditv1.ExternalEditServiceClient
	Log    *slog.Logger
}

// Editor implements grpcapi.Editors. The rerun is closed already, so a question that fails is only logged.
func (e Editors) Editor(ctx context.Context, scope authn.LabScope, reportID int64) string {
	if e.Client == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, editorTimeout)
	defer cancel()
	open, err := e.Client.HasOpenSession(ctx, &externaleditv1.HasOpenSessionRequest{LabId: scope.LabID(),
		LabReportIds: []int64{reportID}})
	if err != nil {
		e.Log.WarnContext(ctx, "no one could be warned of a report that may be open in an editor", "error", err)
		return ""
	}
	for _, s := range open.GetSessions() {
		return s.GetAuthorName()
	}
	return ""
}
