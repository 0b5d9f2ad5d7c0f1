package delivery

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
)

// Notifications is the part of the notifications' client that is used.
type Notifications interface {
	Notify(
		ctx context.Context,
		in *notificationsv1.NotifyRequest,
		opts ...grpc.CallOption,
	) (*notificationsv1.NotifyResponse, error)
}

// Dispatcher hands outbox rows to their receivers. Table is the outbox's name, a part of every row's key. Notifications
// may be nil: then its messages wait for a deployment that has it.
type Dispatcher struct {
	Table         string
	Notifications Notifications
	Jobs          Jobs
}

// Receivers returns who takes the rows of each kind.
func (d Dispatcher) Receivers() map[string]outbox.Deliver {
	return map[string]outbox.Deliver{kindNotice: d.notify, kindWake: d.wake}
}

var (
	errPayload         = outbox.Undeliverable(errors.New("the payload is not the message of its kind"))
	errNoNotifications = outbox.Away(errors.New("CALLOUT_NOTIFICATIONS_ADDR is not set"))
)

func (d Dispatcher) notify(ctx context.Context, row outbox.Row) error {
	var in notificationsv1.NotifyRequest
	if err := proto.Unmarshal(row.Payload, &in); err != nil {
		return errPayload
	}
	if d.Notifications == nil {
		return errNoNotifications
	}
	// The receiver tells a repetition by the key, which is the same for every try of this row.
	in.IdempotencyKey = proto.String(row.Key(d.Table))
	if _, err := d.Notifications.Notify(ctx, &in); err != nil {
		return outbox.Classify(fmt.Errorf("notify: %w", err))
	}
	return nil
}

func (d Dispatcher) wake(ctx context.Context, row outbox.Row) error {
	var in calloutv1.EvaluateBillRequest
	if err := proto.Unmarshal(row.Payload, &in); err != nil {
		return errPayload
	}
	scope, err := authn.Principal{Kind: authn.Service}.Scope(in.GetLabId())
	if err != nil {
		return errPayload
	}
	return outbox.Classify(d.Jobs.Align(ctx, scope, in.GetBillId(), row.Key(d.Table)))
}
