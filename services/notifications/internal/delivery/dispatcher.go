package delivery

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// TaskQueue is the client of the task queue.
type TaskQueue interface {
	Enqueue(
		ctx context.Context,
		in *taskqueuev1.EnqueueRequest,
		opts ...grpc.CallOption,
	) (*taskqueuev1.EnqueueResponse, error)
}

// Devices updates the topics of a login's devices after a change of its preferences.
type Devices interface {
	Resubscribe(ctx context.Context, v notification.Viewer) error
}

// Store reads the present state of notifications before their push messages are sent.
type Store interface {
	// Sending returns the present state of a notification.
	Sending(ctx context.Context, lab authn.LabScope, notificationID int64) (notify.Sending, error)
}

// Observer counts push messages that are not sent.
type Observer interface {
	Stopped(reason notify.Stop)
}

// Dispatcher delivers the rows of the outbox.
type Dispatcher struct {
	Table     outbox.Table
	TaskQueue TaskQueue
	Devices   Devices
	Store     Store
	Observer  Observer
	// PushOff is set if this installation sends no push messages. Messages from before stay in the outbox.
	PushOff bool
	// Held reports whether an operator of the task queue has paused push messages. They then wait in the outbox, so that
	// one that is withdrawn meanwhile is not sent.
	Held func() bool
	// Paused reports whether an operator has paused a laboratory. Messages of other laboratories do not wait for it.
	Paused func(lab int64) bool
}

var (
	errHeld   = outbox.ReceiverUnavailable(errors.New("an operator of the task queue pauses push messages"))
	errPaused = errors.New("an operator of the task queue pauses the laboratory")
)

// Receivers returns the delivery function of each kind of message.
func (d Dispatcher) Receivers() map[string]outbox.Deliver {
	return map[string]outbox.Deliver{kindPush: d.push, kindResubscribe: d.resubscribe}
}

// push enqueues the task, unless the notification was withdrawn, its type was switched off or its report is no longer
// ready. It uses the row's key as idempotency key, so a repeat gives the same job.
func (d Dispatcher) push(ctx context.Context, row outbox.Row) error {
	var request taskqueuev1.EnqueueRequest
	if err := proto.Unmarshal(row.Payload, &request); err != nil {
		return outbox.Undeliverable(err)
	}
	stop, err := d.stop(ctx, row, request.GetLabId())
	if err != nil {
		return err
	}
	if stop != "" {
		d.Observer.Stopped(stop)
		return nil
	}
	if d.PushOff {
		return outbox.ReceiverUnavailable(errPushOff)
	}
	if d.Held() {
		return errHeld
	}
	if d.Paused(request.GetLabId()) {
		return errPaused
	}
	request.IdempotencyKey = proto.String(row.Key(d.Table.Name()))
	_, err = d.TaskQueue.Enqueue(ctx, &request)
	return outbox.Classify(err)
}

var errPushOff = errors.New("PUSH_PROVIDER is off, and was not when this push was accepted: set it to fcm again; see docs/messages.md")

// stop returns why the push message is not sent; "" if it is.
func (d Dispatcher) stop(ctx context.Context, row outbox.Row, labID int64) (notify.Stop, error) {
	lab, err := authn.Principal{Kind: authn.Service}.Scope(labID)
	if err != nil {
		return "", outbox.Undeliverable(err)
	}
	id, err := notificationOf(row.Aggregate)
	if err != nil {
		return "", outbox.Undeliverable(err)
	}
	now, err := d.Store.Sending(ctx, lab, id)
	return now.Stop(), err
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
