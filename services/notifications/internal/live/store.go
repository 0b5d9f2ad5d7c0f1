package live

import (
	"context"

	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// Position is a position in the inbox, which is ordered by time and id. The zero Position is before all notifications.
type Position struct{ CreatedAt, ID int64 }

// Store reads the inbox. Every method returns only what the viewer may see.
type Store interface {
	inbox.ReadState
	// Newest returns the position of the viewer's newest notification; the zero Position without one.
	Newest(ctx context.Context, v notification.Viewer) (Position, error)
	// Position returns the position of a notification, or notification.ErrNotFound if the viewer may not see it.
	Position(ctx context.Context, v notification.Viewer, id int64) (Position, error)
	// After returns at most limit notifications after p, oldest first.
	After(ctx context.Context, v notification.Viewer, p Position, limit int) ([]notification.Notification, error)
}

// Changes finds notifications whose text was replaced after they were sent.
type Changes interface {
	// Reworded returns at most limit of the viewer's notifications whose text was replaced at or after since (epoch
	// seconds), the last replaced first.
	Reworded(ctx context.Context, v notification.Viewer, since int64, limit int) ([]Rewording, error)
}

// Rewording is a notification with its replaced text and the time of the change.
type Rewording struct {
	notification.Notification

	At int64 // epoch seconds
}
