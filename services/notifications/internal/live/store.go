package live

import (
	"context"

	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// Position is a place in the inbox, which is ordered by time and id. The zero Position is before everything.
type Position struct{ CreatedAt, ID int64 }

// Store keeps the inbox. Every method sees what the viewer may see and nothing else.
type Store interface {
	inbox.ReadState
	// Newest returns where the viewer's newest notification is; the zero Position without one.
	Newest(ctx context.Context, v notification.Viewer) (Position, error)
	// Position returns where a notification is; notification.ErrNotFound when the viewer does not see it.
	Position(ctx context.Context, v notification.Viewer, id int64) (Position, error)
	// After returns at most limit notifications after p, oldest first.
	After(ctx context.Context, v notification.Viewer, p Position, limit int) ([]notification.Notification, error)
}

// Changes finds notifications whose text was replaced after they were sent.
type Changes interface {
	// Reworded returns at most limit of the viewer's notifications whose text was replaced at the time since or later, in
	// epoch seconds, the last replaced first.
	Reworded(ctx context.Context, v notification.Viewer, since int64, limit int) ([]Rewording, error)
}

// Rewording is a notification with its new text.
type Rewording struct {
	notification.Notification

	At int64 // epoch seconds
}
