package grpcapi

import (
	"fmt"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/labjson"
	notificationsv1 "github.com/labplatform/labplatform/proto/gen/lab/notifications/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// WatchNotifications streams new notifications of the login's inbox.
func (s *Server) WatchNotifications(
	_ *notificationsv1.WatchNotificationsRequest, stream grpc.ServerStreamingServer[typev1.Event],
) error {
	ctx := stream.Context()
	v, err := viewer(ctx)
	if err != nil {
		return err
	}
	var last string
	if values := metadata.ValueFromIncomingContext(ctx, "last-event-id"); len(values) > 0 {
		last = values[0]
	}
	return s.d.Live.Watch(ctx, v, last, eventReader{v, stream.Send})
}

// eventReader sends the events of one viewer to the stream.
type eventReader struct {
	viewer notification.Viewer
	send   func(*typev1.Event) error
}

var _ live.Reader = (*eventReader)(nil)

// Position sends an event that has only an id, from which the reader continues after a lost connection.
func (r eventReader) Position(id int64) error {
	return r.send(&typev1.Event{Id: strconv.FormatInt(id, 10)})
}

func (r eventReader) Notification(n notification.Notification, activities []notification.Activity) error {
	data, err := labjson.Marshal(listedOne(r.viewer, n, activities))
	if err != nil {
		return fmt.Errorf("encode notification %d: %w", n.ID, err)
	}
	return r.send(&typev1.Event{Id: strconv.FormatInt(n.ID, 10), Event: "notification", Data: string(data)})
}

// Changed sends an event without an id, which does not change the reader's position.
func (r eventReader) Changed(n notification.Notification, activities []notification.Activity) error {
	data, err := labjson.Marshal(listedOne(r.viewer, n, activities))
	if err != nil {
		return fmt.Errorf("encode notification %d: %w", n.ID, err)
	}
	return r.send(&typev1.Event{Event: "changed", Data: string(data)})
}

// Unread sends an event without an id, which does not change the reader's position.
func (r eventReader) Unread(n int64) error {
	return r.send(&typev1.Event{Event: "unread", Data: fmt.Sprintf(`{"unread_count":%d}`, n)})
}
