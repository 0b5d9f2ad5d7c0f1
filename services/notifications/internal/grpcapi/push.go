package grpcapi

import (
	"context"

	"google.golang.org/genproto/googleapis/api/httpbody"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/serviceworker"
	"github.com/labplatform/labplatform/services/notifications/internal/withdraw"
)

var errNoTopics = apperr.New(apperr.Forbidden, "NO_TOPICS",
	"There is nothing to subscribe to for this kind of login; log in as a lab user, a doctor or an organisation")

// SubscribeTopics subscribes a token to the topics of the login.
func (s *Server) SubscribeTopics(
	ctx context.Context, in *notificationsv1.SubscribeTopicsRequest,
) (*notificationsv1.SubscribeTopicsResponse, error) {
	v, err := viewer(ctx)
	if err != nil {
		return nil, err
	}
	if !v.HasTopics() {
		if err := s.d.Devices.Release(ctx, v, in.GetToken()); err != nil && !apperr.Is(err, apperr.Invalid) {
			return nil, err
		}
		return nil, errNoTopics
	}
	out, err := s.d.Devices.Subscribe(
		ctx,
		v,
		device.Device{Token: in.GetToken(), DeviceID: in.GetDeviceId(), Platform: in.GetPlatform()},
	)
	if err != nil {
		return nil, err
	}
	if len(out.Failed) > 0 {
		idempotency.MarkRefused(ctx)
	}
	return &notificationsv1.SubscribeTopicsResponse{
		Success: len(out.Failed) == 0, Message: subscribedMessage(out), Topics: out.Topics, FailedTopics: out.Failed,
	}, nil
}

func subscribedMessage(out device.Outcome) string {
	if len(out.Failed) > 0 {
		return "The push provider refused some topics; subscribe again to try them once more"
	}
	return "Subscribed successfully"
}

// UnsubscribeTopics unsubscribes a token from all topics.
func (s *Server) UnsubscribeTopics(
	ctx context.Context, in *notificationsv1.UnsubscribeTopicsRequest,
) (*notificationsv1.UnsubscribeTopicsResponse, error) {
	v, err := viewer(ctx)
	if err != nil {
		return nil, err
	}
	topics, err := s.d.Devices.Unsubscribe(ctx, v, in.GetToken())
	if err != nil {
		return nil, err
	}
	return &notificationsv1.UnsubscribeTopicsResponse{
		Success: true,
		Message: "Unsubscribed successfully",
		Topics:  topics,
	}, nil
}

// Notify stores a notification on behalf of another service.
func (s *Server) Notify(
	ctx context.Context,
	in *notificationsv1.NotifyRequest,
) (*notificationsv1.NotifyResponse, error) {
	result, err := s.d.Notifier.Notify(ctx, authn.FromContext(ctx), notify.Trigger{
		Gateway:        in.GetGateway(),
		TypeID:         in.GetNotificationTypeId(),
		Context:        in.GetContext().GetJson(),
		IdempotencyKey: in.IdempotencyKey,
	})
	if err != nil {
		return nil, err
	}
	return notified(result), nil
}

func notified(r notify.Result) *notificationsv1.NotifyResponse {
	out := &notificationsv1.NotifyResponse{}
	if r.Unreachable != "" {
		out.Unreachable = new(string(r.Unreachable))
	}
	switch r.Outcome {
	case notify.Off:
		out.Message = "Notification type is disabled"
		return out
	case notify.Withdrawn:
		out.Message = "The notice was withdrawn before it came; nothing was sent"
		return out
	case notify.Repeated:
		out.Duplicate = new(true)
	}
	out.Success, out.Message = true, "Notification sent successfully"
	out.NotificationId, out.Topic = &r.NotificationID, &r.Topic
	return out
}

// WithdrawNotice withdraws a notice that another service sent.
func (s *Server) WithdrawNotice(
	ctx context.Context, in *notificationsv1.WithdrawNoticeRequest,
) (*notificationsv1.WithdrawNoticeResponse, error) {
	answer, err := s.d.Withdrawals.Withdraw(ctx, authn.FromContext(ctx), withdraw.Request{
		LabID: in.GetLabId(), IdempotencyKey: in.GetIdempotencyKey(), Reason: in.GetReason(),
	})
	if err != nil {
		return nil, err
	}
	return &notificationsv1.WithdrawNoticeResponse{WasRead: answer.WasRead, Found: answer.Found}, nil
}

// GetReach reports whether notices of a type reach a device of the laboratory's users.
func (s *Server) GetReach(
	ctx context.Context, in *notificationsv1.GetReachRequest,
) (*notificationsv1.GetReachResponse, error) {
	unreachable, err := s.d.Notifier.Reach(ctx, authn.FromContext(ctx), in.GetLabId(), in.GetNotificationTypeId())
	if err != nil {
		return nil, err
	}
	return &notificationsv1.GetReachResponse{Unreachable: string(unreachable)}, nil
}

// GetServiceWorker returns the script of the service worker for web push.
func (s *Server) GetServiceWorker(
	_ context.Context,
	in *notificationsv1.GetServiceWorkerRequest,
) (*httpbody.HttpBody, error) {
	text, ok := serviceworker.Script(in.GetFile())
	if !ok {
		return nil, apperr.New(
			apperr.NotFound,
			"NO_SUCH_WORKER",
			"There is no such service worker; use firebase-messaging-sw.js, fcm-sw.js or web-push-sw.js",
		)
	}
	return &httpbody.HttpBody{ContentType: "text/javascript; charset=utf-8", Data: text}, nil
}
