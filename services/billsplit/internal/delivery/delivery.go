// Package delivery owns what happens after a bill changed, in the background, and may fail without failing the
// caller: the search index is asked to refresh the patient. Change capture sees the changed rows anyway; this is only
// quicker. So nothing of it is kept in an outbox.
package delivery

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/authn"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
)

// index is the name of the task.
const index = "index"

// Names lists the tasks, for metrics that exist from the start.
func Names() []string { return []string{index} }

// Queue runs work in the background; work of one key runs in order. See pkg/aftercommit.
type Queue interface {
	Do(ctx context.Context, key int64, name string, work func(context.Context) error)
}

// Index is the change-capture service.
type Index interface {
	SyncUsers(ctx context.Context, in *cdcv1.SyncUsersRequest, opts ...grpc.CallOption) (*cdcv1.SyncUsersResponse, error)
}

// Tasks runs in the background what follows a split: it refreshes the search documents of patients.
type Tasks struct {
	queue Queue
	index Index // nil in deployments that have no search
}

// New returns the tasks. index may be nil.
func New(q Queue, i Index) *Tasks { return &Tasks{q, i} }

// Changed asks for the patient's search document to be refreshed.
func (t *Tasks) Changed(ctx context.Context, lab authn.LabScope, patientID int64) {
	if t.index == nil {
		return
	}
	t.queue.Do(ctx, patientID, index, func(ctx context.Context) error {
		_, err := t.index.SyncUsers(ctx, &cdcv1.SyncUsersRequest{LabId: lab.LabID(), UserIds: []int64{patientID}})
		if err != nil {
			return fmt.Errorf("sync user: %w", err)
		}
		return nil
	})
}
