package inbox

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// Store keeps the inbox. Every method sees what the viewer may see and nothing else.
type Store interface {
	// Zone returns the time zone of the laboratory.
	Zone(ctx context.Context, lab authn.LabScope) (*time.Location, error)
	// List returns notifications of the window, newest first.
	List(ctx context.Context, v notification.Viewer, w notification.Window, p Page) ([]notification.Notification, error)
	// Unread counts what the viewer has not read in the window, up to most.
	Unread(ctx context.Context, v notification.Viewer, w notification.Window, most int) (int64, error)
	// ActivitiesOf returns the newest activities of each notification, at most most, oldest first.
	ActivitiesOf(
		ctx context.Context, lab authn.LabScope, ids []int64, most int,
	) (map[int64][]notification.Activity, error)
	// Activities returns what was done in the window, newest first, at most limit.
	Activities(
		ctx context.Context,
		v notification.Viewer,
		w notification.Window,
		limit int,
	) ([]notification.Activity, error)
	// Mark sets or clears when the viewer read a notification and returns that time. A read notification keeps its
	// first time. A notification that the viewer does not see is notification.ErrNotFound.
	Mark(
		ctx context.Context,
		v notification.Viewer,
		id int64,
		a notification.Action,
		now time.Time,
	) (readOn *int64, err error)
	// MarkRead marks up to limit unread notifications of the window read, newest first, and returns how many.
	MarkRead(ctx context.Context, v notification.Viewer, w notification.Window, limit int, now time.Time) (int, error)
}

// Page is a part of a list.
type Page struct{ Offset, Limit int }
