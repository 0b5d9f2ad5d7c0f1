// Package delivery refreshes the patient's search document after a bill changed. It runs in the background, and a
// failure does not fail the caller. Change capture sees the changed rows anyway, only later, so the task is not kept in
// an outbox.
package delivery

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/authn"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
)

// index is the name of the task, as metrics use it.
const index = "index"

// Names returns all task names, for metrics that exist from the start.
func Names() []string { return []string{index} }

// Queue runs tasks in the background. Tasks of one key run in order. See pkg/aftercommit.
type Queue interface {
	Do(ctx context.Context, key int64, name string, work func(context.Context) error)
}

// Index is the part of change capture's client that the package uses.
type Index interface {
	SyncUsers(ctx context.Context, in *cdcv1.SyncUsersRequest, opts ...grpc.CallOption) (*cdcv1.SyncUsersResponse, error)
}

// Tasks queues the tasks after a split or a merge: they refresh the search documents of patients.
type Tasks struct {
	queue Queue
	index Index // nil in deployments without search
}

// New returns tasks. index may be nil.
func New(q Queue, i Index) *Tasks { return &Tasks{q, i} }

// Changed queues the refresh of the patient's search document.
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
