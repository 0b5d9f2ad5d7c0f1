// Package grpcapi is the transport of notifications: decode, call, encode.
package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// Inbox lists and marks notifications.
type Inbox interface {
	List(ctx context.Context, v notification.Viewer, q inbox.Query) (inbox.List, error)
	Mark(ctx context.Context, v notification.Viewer, id int64, action string) (inbox.Marked, error)
	MarkAll(ctx context.Context, v notification.Viewer) (int, error)
	Activities(ctx context.Context, v notification.Viewer, from, to string) (inbox.ActivityList, error)
}

// Preferences keeps the switches.
type Preferences interface {
	Kinds(ctx context.Context, lab authn.LabScope) ([]notification.Kind, error)
	MaySwitch(ctx context.Context, caller authn.Principal) error
	SetKinds(ctx context.Context, lab authn.LabScope, switches []notification.Switch, actorID int64) error
	Of(ctx context.Context, caller authn.Principal, userID int64) ([]notification.Preference, error)
	Set(ctx context.Context, caller authn.Principal, userID int64, text string) ([]notification.Preference, error)
}

// Devices subscribes tokens.
type Devices interface {
	Subscribe(ctx context.Context, v notification.Viewer, d device.Device) (device.Outcome, error)
	Unsubscribe(ctx context.Context, v notification.Viewer, token string) ([]string, error)
}

// Notifier takes triggers.
type Notifier interface {
	Notify(ctx context.Context, p authn.Principal, t notify.Trigger) (notify.Result, error)
}

// Live follows inboxes.
type Live interface {
	Watch(ctx context.Context, v notification.Viewer, last string, out live.Reader) error
}

// Deps is what the server works with.
type Deps struct {
	Inbox       Inbox
	Preferences Preferences
	Devices     Devices
	Notifier    Notifier
	Live        Live
}

// Server implements notificationsv1.NotificationsServiceServer.
type Server struct {
	notificationsv1.UnimplementedNotificationsServiceServer

	d Deps
}

// New returns the server.
func New(d Deps) *Server { return &Server{d: d} }

// Anonymous lists the methods that need no session.
func Anonymous() []string {
	return []string{notificationsv1.NotificationsService_GetServiceWorker_FullMethodName}
}

func viewer(ctx context.Context) (notification.Viewer, error) {
	return notification.ViewerOf(authn.FromContext(ctx))
}

// first returns the first text that is given, "" when none is.
func first(texts ...*string) string {
	for _, t := range texts {
		if t != nil && *t != "" {
			return *t
		}
	}
	return ""
}
