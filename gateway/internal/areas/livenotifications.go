package areas

import (
	"context"
	"net/http"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/edge"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// liveNotifications streams new notifications of the caller's login.
var liveNotifications = edge.Stream{
	Route: edge.Route{
		Method: http.MethodGet, Path: "/api-v3/notifications/live",
		RPC: "/lab.notifications.v1.NotificationsService/WatchNotifications",
	},
	Open: func(
		ctx context.Context, c grpc.ClientConnInterface, _ *http.Request, _ map[string]string,
	) (func() (*typev1.Event, error), error) {
		stream, err := notificationsv1.NewNotificationsServiceClient(c).
			WatchNotifications(ctx, &notificationsv1.WatchNotificationsRequest{})
		if err != nil {
			return nil, err
		}
		return stream.Recv, nil
	},
}
