package memory

import (
	"context"
	"math"
	"slices"

	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

func (s *Store) Newest(_ context.Context, v notification.Viewer) (live.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.visible(v, notification.Window{To: math.MaxInt64}) {
		return live.Position{CreatedAt: n.created, ID: n.id}, nil
	}
	return live.Position{}, nil
}

func (s *Store) Position(_ context.Context, v notification.Viewer, id int64) (live.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.list {
		if n.id == id && sees(v, n) {
			return live.Position{CreatedAt: n.created, ID: n.id}, nil
		}
	}
	return live.Position{}, notification.ErrNotFound
}

func (s *Store) After(
	_ context.Context,
	v notification.Viewer,
	p live.Position,
	limit int,
) ([]notification.Notification, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []notification.Notification
	for _, n := range slices.Backward(s.visible(v, notification.Window{From: p.CreatedAt, To: math.MaxInt64})) {
		if (n.created > p.CreatedAt || n.id > p.ID) && len(list) < limit {
			list = append(list, s.shown(v, n))
		}
	}
	return list, nil
}

// shown is a notification as the viewer sees it.
func (s *Store) shown(v notification.Viewer, n stored) notification.Notification {
	return notification.Notification{
		ID:        n.id,
		TypeID:    n.TypeID,
		Message:   n.Message,
		CreatedAt: n.created,
		ReadOn:    s.readOn(v, n.id),
	}
}
