package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/reach"
)

// Notifications is the part of the notification service's client used here.
type Notifications interface {
	Notify(
		ctx context.Context, in *notificationsv1.NotifyRequest, opts ...grpc.CallOption,
	) (*notificationsv1.NotifyResponse, error)
	WithdrawNotice(
		ctx context.Context, in *notificationsv1.WithdrawNoticeRequest, opts ...grpc.CallOption,
	) (*notificationsv1.WithdrawNoticeResponse, error)
	GetReach(
		ctx context.Context, in *notificationsv1.GetReachRequest, opts ...grpc.CallOption,
	) (*notificationsv1.GetReachResponse, error)
}

// Notices decides whether a message still has to be sent, and stores the outcome.
type Notices interface {
	ToSend(ctx context.Context, scope authn.LabScope, m callout.Message) (bool, error)
	Delivered(ctx context.Context, scope authn.LabScope, m callout.Message, reason string, sentAt time.Time) error
}

// Dispatcher delivers outbox rows. Table is the name of the outbox table and part of each row's key. Notifications may
// be nil; its messages then stay in the outbox.
type Dispatcher struct {
	Table         string
	Notifications Notifications
	Jobs          Jobs
	Notices       Notices
}

// Receivers returns the delivery function of each kind of row.
func (d Dispatcher) Receivers() map[string]outbox.Deliver {
	return map[string]outbox.Deliver{kindNotice: d.notify, kindWithdraw: d.withdraw, kindWake: d.wake}
}

var (
	errPayload         = outbox.Undeliverable(errors.New("the payload is not the message of its kind"))
	errNoNotifications = outbox.ReceiverUnavailable(errors.New("CALLOUT_NOTIFICATIONS_ADDR is not set"))
)

// notify sends a notice, unless it became outdated while the row waited.
func (d Dispatcher) notify(ctx context.Context, row outbox.Row) error {
	var in notificationsv1.NotifyRequest
	if err := proto.Unmarshal(row.Payload, &in); err != nil {
		return errPayload
	}
	if in.IdempotencyKey == nil {
		in.IdempotencyKey = proto.String(row.Key(d.Table)) // rows of version 1.0.0 have no key
	}
	m, labID, err := messageOf(&in)
	if err != nil {
		return err
	}
	scope, err := authn.Principal{Kind: authn.Service}.Scope(labID)
	if err != nil {
		return errPayload
	}
	return d.send(ctx, scope, m, &in, row.CreatedAt)
}

func (d Dispatcher) send(
	ctx context.Context, scope authn.LabScope, m callout.Message, in *notificationsv1.NotifyRequest, sentAt time.Time,
) error {
	if m.Key != "" {
		if ok, err := d.Notices.ToSend(ctx, scope, m); err != nil || !ok {
			return outbox.Classify(err)
		}
	}
	if d.Notifications == nil {
		return d.unavailable(ctx, scope, m, sentAt, errNoNotifications)
	}
	out, err := d.Notifications.Notify(ctx, in)
	if err != nil {
		err = fmt.Errorf("notify: %w", err)
		switch apperr.KindOf(err) {
		case apperr.Invalid, apperr.NotFound, apperr.Conflict, apperr.TooLarge:
			return outbox.Classify(err) // the service is available but rejected this notice
		}
		return d.unavailable(ctx, scope, m, sentAt, outbox.Classify(err))
	}
	if !out.GetSuccess() && out.GetUnreachable() == "" {
		return nil // withdrawn while it was on its way
	}
	return outbox.Classify(d.Notices.Delivered(ctx, scope, m, out.GetUnreachable(), sentAt))
}

// unavailable stores that notices cannot be sent, for display on the board, and returns the cause.
func (d Dispatcher) unavailable(
	ctx context.Context, scope authn.LabScope, m callout.Message, sentAt time.Time, cause error,
) error {
	return errors.Join(cause, d.Notices.Delivered(ctx, scope, m, reach.Unavailable, sentAt))
}

// Reasons of a withdrawal, as defined by the notification service.
const (
	reasonCalled = "called"
	reasonWrong  = "wrong"
	reasonPartly = "partly_wrong"
)

// withdraw stops a notice. If a recipient has read it, withdraw sends corrections to the audiences in Tell.
func (d Dispatcher) withdraw(ctx context.Context, row outbox.Row) error {
	var w withdrawal
	if err := json.Unmarshal(row.Payload, &w); err != nil {
		return errPayload
	}
	scope, err := authn.Principal{Kind: authn.Service}.Scope(w.LabID)
	if err != nil {
		return errPayload
	}
	if d.Notifications == nil {
		return errNoNotifications
	}
	m := w.Message
	reason := reasonWrong
	switch {
	case m.Called:
		reason = reasonCalled
	case m.Partly:
		reason = reasonPartly
	}
	out, err := d.Notifications.WithdrawNotice(ctx, &notificationsv1.WithdrawNoticeRequest{
		LabId: w.LabID, IdempotencyKey: noticeKey(m.ReportID, m.Notice), Reason: reason,
	})
	if err != nil {
		return outbox.Classify(fmt.Errorf("withdraw notice: %w", err))
	}
	if m.Called || !out.GetWasRead() {
		return nil
	}
	for _, to := range m.Tell {
		correction := callout.Message{
			Kind: callout.Correct, ReportID: m.ReportID, BillID: m.BillID, Key: m.Key, Notice: m.Notice,
			Audience: to.Audience, Quiet: to.Quiet,
		}
		in, err := notifyRequest(w.LabID, correction)
		if err != nil {
			return errPayload
		}
		if err := d.send(ctx, scope, correction, in, row.CreatedAt); err != nil {
			return err
		}
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

// Reach asks the notification service whether notices reach a laboratory.
type Reach struct{ Notifications Notifications }

var _ reach.Client = Reach{}

func (r Reach) Reach(ctx context.Context, scope authn.LabScope) (string, error) {
	if r.Notifications == nil {
		return "", errNoNotifications
	}
	out, err := r.Notifications.GetReach(ctx, &notificationsv1.GetReachRequest{
		LabId: scope.LabID(), NotificationTypeId: criticalReport,
	})
	if err != nil {
		return "", fmt.Errorf("get reach: %w", err)
	}
	return out.GetUnreachable(), nil
}
