package areas

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/edge"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
)

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
