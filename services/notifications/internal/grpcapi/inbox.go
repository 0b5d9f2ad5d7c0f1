package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
)

// ListNotifications lists the inbox of the login.
func (s *Server) ListNotifications(
	ctx context.Context, in *notificationsv1.ListNotificationsRequest,
) (*notificationsv1.ListNotificationsResponse, error) {
	v, err := viewer(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.d.Inbox.List(ctx, v, inbox.Query{
		From:  first(in.From, in.FromDate), //nolint:protogetter // a pointer, because absent differs from empty
		To:    first(in.To, in.ToDate),     //nolint:protogetter // a pointer, because absent differs from empty
		Page:  in.GetPage(),
		Limit: in.GetLimit(),
	})
	if err != nil {
		return nil, err
	}
	return listed(v, list), nil
}

// MarkNotification marks one notification read or unread.
func (s *Server) MarkNotification(
	ctx context.Context, in *notificationsv1.MarkNotificationRequest,
) (*notificationsv1.MarkNotificationResponse, error) {
	v, err := viewer(ctx)
	if err != nil {
		return nil, err
	}
	marked, err := s.d.Inbox.Mark(ctx, v, in.GetNotificationId(), in.GetAction())
	if err != nil {
		return nil, err
	}
	return &notificationsv1.MarkNotificationResponse{
		Success: true, Message: "Notification marked as " + in.GetAction(), NotificationData: stateOf(v, marked),
	}, nil
}

// MarkAllRead marks the login's notifications read.
func (s *Server) MarkAllRead(
	ctx context.Context,
	in *notificationsv1.MarkAllReadRequest,
) (*notificationsv1.MarkAllReadResponse, error) {
	v, err := viewer(ctx)
	if err != nil {
		return nil, err
	}
	n, err := s.d.Inbox.MarkAll(ctx, v, in.UpTo)
	if err != nil {
		return nil, err
	}
	return &notificationsv1.MarkAllReadResponse{
		Success: true,
		Message: "Notifications marked as read",
		Marked:  int64(n),
	}, nil
}

// ListActivities lists what users did with notifications.
func (s *Server) ListActivities(
	ctx context.Context, in *notificationsv1.ListActivitiesRequest,
) (*notificationsv1.ListActivitiesResponse, error) {
	v, err := viewer(ctx)
	if err != nil {
		return nil, err
	}
	from, to := first(in.FromDate, in.From), first(in.ToDate, in.To) //nolint:protogetter // absent differs from empty
	list, err := s.d.Inbox.Activities(ctx, v, from, to)
	if err != nil {
		return nil, err
	}
	return &notificationsv1.ListActivitiesResponse{
		Message:                "success",
		NotificationActivities: activitiesOf(list.Activities),
		Total:                  int64(len(list.Activities)),
		LimitReached:           list.LimitReached,
	}, nil
}

// ListTypes lists the notification types with the laboratory's switches.
func (s *Server) ListTypes(
	ctx context.Context,
	_ *notificationsv1.ListTypesRequest,
) (*notificationsv1.ListTypesResponse, error) {
	p := authn.FromContext(ctx)
	lab, err := p.Scope(0)
	if err != nil {
		return nil, err
	}
	kinds, err := s.d.Preferences.Kinds(ctx, lab)
	if err != nil {
		return nil, err
	}
	may := s.d.Preferences.MaySwitch(ctx, p)
	if may != nil && !apperr.Is(may, apperr.Forbidden) {
		return nil, may
	}
	return &notificationsv1.ListTypesResponse{
		Total: int64(len(kinds)), NotificationTypes: typesOf(kinds), MayChange: may == nil,
	}, nil
}
