package grpcapi

import (
	"google.golang.org/grpc"

	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

// WatchEvents streams a report's events. If the caller has a session token, the stream ends with the session.
func (s *Server) WatchEvents(
	in *externaleditv1.WatchEventsRequest, stream grpc.ServerStreamingServer[typev1.Event],
) error {
	ctx := stream.Context()
	c, err := s.callerOf(ctx)
	if err != nil {
		return err
	}
	if err := positive("lab_report_id", in.GetLabReportId()); err != nil {
		return err
	}
	if err := s.mayView(ctx, c, in.GetLabReportId()); err != nil {
		return err
	}
	return s.d.Watcher.Watch(ctx, c.scope, in.GetLabReportId(), header(ctx, "last-event-id"), func(e watch.Entry) error {
		if err := stream.Send(&typev1.Event{Id: e.ID, Event: e.Event, Data: e.Data}); err != nil || c.grant == nil {
			return err
		}
		return s.d.Editor.Admit(ctx, c.scope, *c.grant)
	})
}
