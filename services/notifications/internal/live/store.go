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
