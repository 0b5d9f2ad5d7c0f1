package delivery

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
)

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
