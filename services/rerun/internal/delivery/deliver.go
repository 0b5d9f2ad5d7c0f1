package delivery

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
)

// TaskQueue is the part of the task queue's client that is used.
type TaskQueue interface {
	Enqueue(ctx context.Context, in *taskqueuev1.EnqueueRequest, opts ...grpc.CallOption) (*taskqueuev1.EnqueueResponse, error)
}

// Courier hands outbox rows to their receivers.
type Courier struct {
	TaskQueue TaskQueue
	Evaluator *Evaluator
}

// Deliver implements outbox.Deliver. What the receiver refuses for good is parked; the rest is tried again.
func (c Courier) Deliver(ctx context.Context, row outbox.Row) error {
	switch row.Kind {
	case kindEnqueue:
		return c.enqueue(ctx, row)
	case kindEvaluate:
		return c.Evaluator.deliver(ctx, row)
	default:
		return outbox.Undeliverable(fmt.Errorf("no receiver for rows of kind %q", row.Kind))
	}
}

func (c Courier) enqueue(ctx context.Context, row outbox.Row) error {
	var in taskqueuev1.EnqueueRequest
	if err := proto.Unmarshal(row.Payload, &in); err != nil {
		return outbox.Undeliverable(fmt.Errorf("read payload: %w", err))
	}
	// The receiver tells a repetition by the key, which is the same for every try of this row.
	in.IdempotencyKey = proto.String(row.Key("outbox_rerun"))
	_, err := c.TaskQueue.Enqueue(ctx, &in)
	return classify(err)
}

func classify(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("enqueue: %w", err)
	switch apperr.KindOf(err) {
	case apperr.Invalid, apperr.Forbidden, apperr.NotFound, apperr.Conflict, apperr.TooLarge, apperr.Unimplemented:
		return outbox.Undeliverable(err)
	default:
		return err
	}
}

// Index asks the change-capture service for a fresh search document; without a client it does nothing, for
// deployments that have no search.
type Index struct {
	Client cdcv1.ChangeCaptureServiceClient
}

// SyncUser implements follow.Index.
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
