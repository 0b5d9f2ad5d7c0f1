package delivery

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// TaskQueue is the client of the task queue.
type TaskQueue interface {
	Enqueue(
		ctx context.Context,
		in *taskqueuev1.EnqueueRequest,
		opts ...grpc.CallOption,
	) (*taskqueuev1.EnqueueResponse, error)
}

// Devices brings the topics of a login's devices in line with its preferences.
type Devices interface {
	Resubscribe(ctx context.Context, v notification.Viewer) error
}

// Dispatcher delivers the rows of the outbox.
type Dispatcher struct {
	Table     outbox.Table
	TaskQueue TaskQueue
	Devices   Devices
}

// Receivers returns the delivery of each kind of message.
func (d Dispatcher) Receivers() map[string]outbox.Deliver {
	return map[string]outbox.Deliver{kindPush: d.push, kindResubscribe: d.resubscribe}
}

// push enqueues the task. The key of the row makes a repeat the same job.
func (d Dispatcher) push(ctx context.Context, row outbox.Row) error {
	var request taskqueuev1.EnqueueRequest
	if err := proto.Unmarshal(row.Payload, &request); err != nil {
		return outbox.Undeliverable(err)
	}
	request.IdempotencyKey = proto.String(row.Key(d.Table.Name()))
	_, err := d.TaskQueue.Enqueue(ctx, &request)
	return outbox.Classify(err)
}

func (d Dispatcher) resubscribe(ctx context.Context, row outbox.Row) error {
	var r resubscription
	if err := json.Unmarshal(row.Payload, &r); err != nil {
		return outbox.Undeliverable(err)
	}
	lab, err := authn.Principal{Kind: authn.Service}.Scope(r.LabID)
	if err != nil {
		return outbox.Undeliverable(err)
	}
	return outbox.Classify(d.Devices.Resubscribe(ctx, r.viewer(lab)))
}
