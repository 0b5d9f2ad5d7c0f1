package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
)

// Notifications is the part of the notifications' client that is used.
type Notifications interface {
	Notify(
		ctx context.Context,
		in *notificationsv1.NotifyRequest,
		opts ...grpc.CallOption,
	) (*notificationsv1.NotifyResponse, error)
}

// Swallowed notes that no one was told, as the laboratory has the type of notification switched off.
type Swallowed interface {
	NoticeOff(ctx context.Context, scope authn.LabScope, n escalate.Notice) error
}

// Dispatcher hands outbox rows to their receivers. Table is the outbox's name, a part of every row's key. Notifications
// may be nil: then its messages wait for a deployment that has it.
type Dispatcher struct {
	Table         string
	Notifications Notifications
	Jobs          Jobs
	Swallowed     Swallowed
}

// Receivers returns who takes the rows of each kind.
func (d Dispatcher) Receivers() map[string]outbox.Deliver {
	return map[string]outbox.Deliver{kindNotice: d.notify, kindWake: d.wake}
}

var (
	errPayload         = outbox.Undeliverable(errors.New("the payload is not the message of its kind"))
	errNoNotifications = outbox.ReceiverUnavailable(errors.New("CALLOUT_NOTIFICATIONS_ADDR is not set"))
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
	out, err := d.Notifications.Notify(ctx, &in)
	if err != nil {
		return outbox.Classify(fmt.Errorf("notify: %w", err))
	}
	if out.GetSuccess() {
		return nil
	}
	return d.swallowed(ctx, in.GetContext().GetJson())
}

func (d Dispatcher) swallowed(ctx context.Context, text []byte) error {
	var c noticeContext
	if err := json.Unmarshal(text, &c); err != nil {
		return errPayload
	}
	scope, err := authn.Principal{Kind: authn.Service}.Scope(c.LabID)
	if err != nil {
		return errPayload
	}
	n := escalate.Notice{
		LabID: c.LabID, ReportID: c.ReportID, BillID: c.BillID, Level: c.Escalation, Corrected: c.Corrected,
	}
	return outbox.Classify(d.Swallowed.NoticeOff(ctx, scope, n))
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
