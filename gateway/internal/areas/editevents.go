package areas

import (
	"context"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
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
