package areas

import (
	"context"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// editEvents streams the events of a report's editing session.
var editEvents = edge.Stream{
	Route: edge.Route{
		Method: http.MethodGet, Path: "/api-v3/report/external-edit/{lab_report_id}/events",
		RPC: "/lab.externaledit.v1.ExternalEditService/WatchEvents",
	},
	Open: func(ctx context.Context, c grpc.ClientConnInterface, _ *http.Request,
		params map[string]string) (func() (*typev1.Event, error), error) {
		id, err := runtime.Int64(params["lab_report_id"])
		if err != nil {
			return nil, invalid(apperr.InvalidField("lab_report_id", "lab_report_id must be a whole number"))
		}
		stream, err := externaleditv1.NewExternalEditServiceClient(c).WatchEvents(ctx,
			&externaleditv1.WatchEventsRequest{LabReportId: id})
		if err != nil {
			return nil, err
		}
		return stream.Recv, nil
	},
}

// liveCallouts streams the state of the callout board.
func liveCallouts(path string) edge.Stream {
	return edge.Stream{
		Route: edge.Route{Method: http.MethodGet, Path: path, RPC: "/lab.callout.v1.CalloutService/WatchCallouts"},
		Open: func(
			ctx context.Context, c grpc.ClientConnInterface, _ *http.Request, _ map[string]string,
		) (func() (*typev1.Event, error), error) {
			stream, err := calloutv1.NewCalloutServiceClient(c).WatchCallouts(ctx, &calloutv1.WatchCalloutsRequest{})
			if err != nil {
				return nil, err
			}
			return stream.Recv, nil
		},
	}
}

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

var serviceWorker = edge.Route{
	Method: http.MethodGet, Path: "/api-v3/notifications/service-worker/{file}",
	RPC: "/lab.notifications.v1.NotificationsService/GetServiceWorker",
}

// handleServiceWorker serves the script of the service worker. Service-Worker-Allowed lets a page register it for the
// whole origin; without the header, browsers accept only a scope below the script's own path.
func handleServiceWorker(mux *edge.Mux, client notificationsv1.NotificationsServiceClient) error {
	header := map[string]string{
		"Service-Worker-Allowed": "/",
		"Cache-Control":          "no-cache",
		"X-Content-Type-Options": "nosniff",
	}
	return mux.HandleWithHeader(serviceWorker, header,
		func(ctx context.Context, _ *http.Request, params map[string]string, option grpc.CallOption) (proto.Message, error) {
			return client.GetServiceWorker(ctx, &notificationsv1.GetServiceWorkerRequest{File: params["file"]}, option)
		})
}
