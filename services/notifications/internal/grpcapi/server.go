// Package grpcapi serves the gRPC API of notifications: it identifies the caller, calls the use cases, and converts
// requests and responses.
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
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/withdraw"
)

// Deps are the dependencies of the server.
type Deps struct {
	Inbox       *inbox.Inbox
	Preferences *preference.Preferences
	Devices     *device.Devices
	Notifier    *notify.Notifier
	Withdrawals *withdraw.Withdrawals
	Live        *live.UseCase
}

// Server serves the RPCs of the notifications service.
type Server struct {
	notificationsv1.UnimplementedNotificationsServiceServer

	d Deps
}

// New returns a server with the dependencies d.
func New(d Deps) *Server { return &Server{d: d} }

// Anonymous returns the methods that need no session.
func Anonymous() []string {
	return []string{notificationsv1.NotificationsService_GetServiceWorker_FullMethodName}
}

func viewer(ctx context.Context) (notification.Viewer, error) {
	return notification.ViewerOf(authn.FromContext(ctx))
}

// first returns the first text that is not empty; "" if all are.
func first(texts ...*string) string {
	for _, t := range texts {
		if t != nil && *t != "" {
			return *t
		}
	}
	return ""
}
