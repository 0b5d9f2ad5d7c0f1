package areas

import (
	"context"
	"net/http"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/edge"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

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
