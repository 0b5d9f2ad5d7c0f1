package grpcapi

import (
	"context"

	"google.golang.org/genproto/googleapis/api/httpbody"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/serviceworker"
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

// UnsubscribeTopics ends a token's subscriptions.
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

// Notify takes a trigger of another service.
func (s *Server) Notify(
	ctx context.Context,
	in *notificationsv1.NotifyRequest,
) (*notificationsv1.NotifyResponse, error) {
	result, err := s.d.Notifier.Notify(ctx, authn.FromContext(ctx), notify.Trigger{
		Gateway:        in.GetGateway(),
		TypeID:         in.GetNotificationTypeId(),
		Context:        in.GetContext().GetJson(),
		IdempotencyKey: in.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	if result.Outcome == notify.Off {
		return &notificationsv1.NotifyResponse{Message: "Notification type is disabled"}, nil
	}
	return &notificationsv1.NotifyResponse{
		Success:        true,
		Message:        "Notification sent successfully",
		NotificationId: &result.NotificationID,
		Topic:          &result.Topic,
	}, nil
}

// GetServiceWorker returns the script of the web push service worker.
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
