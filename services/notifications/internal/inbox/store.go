package inbox

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// Reader reads the inbox. Every method returns only what the viewer may see.
type Reader interface {
	ReadState
	// Zone returns the time zone of the laboratory.
	Zone(ctx context.Context, lab authn.LabScope) (*time.Location, error)
	// List returns notifications of the window, newest first.
	List(ctx context.Context, v notification.Viewer, w notification.Window, p Page) ([]notification.Notification, error)
	// Activities returns the activities of the window, newest first, at most limit.
	Activities(ctx context.Context, v notification.Viewer, w notification.Window, limit int) (
		[]notification.Activity, error)
}

// ReadState reads which notifications are unread, and the activities.
type ReadState interface {
	// Unread returns the number of notifications in the window that the viewer has not read, at most limit.
	Unread(ctx context.Context, v notification.Viewer, w notification.Window, limit int) (int64, error)
	// ActivitiesOf returns, for each notification, its newest activities that the viewer may see, at most limit, oldest
	// first.
	ActivitiesOf(ctx context.Context, v notification.Viewer, ids []int64, limit int) (
		map[int64][]notification.Activity, error)
}

// Writer marks notifications.
type Writer interface {
	// Mark applies the action to a notification. It returns when the viewer read it, nil if it is unread. It returns
	// notification.ErrNotFound if the viewer may not see the notification.
	Mark(ctx context.Context, v notification.Viewer, id int64, a notification.Action, now time.Time) (*int64, error)
	// MarkRead marks unread notifications of the window with ids up to last as read, newest first, at most limit. It
	// returns their number.
	MarkRead(ctx context.Context, v notification.Viewer, w notification.Window, last int64, limit int, now time.Time) (
		int, error)
}

// Page selects a part of a list.
type Page struct{ Offset, Limit int }
