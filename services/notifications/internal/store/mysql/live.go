package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

func (s *Store) Newest(ctx context.Context, v notification.Viewer) (live.Position, error) {
	condition, args := visible(v)
	var p live.Position
	err := s.db.QueryRowContext(ctx, "SELECT n.created_at, n.id FROM Notifications n WHERE "+condition+
		" ORDER BY n.created_at DESC, n.id DESC LIMIT 1", args...).Scan(&p.CreatedAt, &p.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return live.Position{}, nil
	}
	return p, mysqldb.Wrap("find newest notification", err)
}

func (s *Store) Position(ctx context.Context, v notification.Viewer, id int64) (live.Position, error) {
	condition, args := visible(v)
	p := live.Position{ID: id}
	err := s.db.QueryRowContext(ctx, "SELECT n.created_at FROM Notifications n WHERE "+condition+" AND n.id = ?",
		append(args, id)...).Scan(&p.CreatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return live.Position{}, notification.ErrNotFound
	}
	return p, mysqldb.Wrap("find notification", err)
}

func (s *Store) After(
	ctx context.Context,
	v notification.Viewer,
	p live.Position,
	limit int,
) ([]notification.Notification, error) {
	condition, args := visible(v)
	args = append(readerArgs(v), args...)
	return s.notifications(
		ctx, v,
		"SELECT n.id, n.notification_type_id, n.message, n.created_at, r.read_on FROM Notifications n"+
			readStateJoin+" WHERE "+condition+" AND n.created_at >= ? AND (n.created_at > ? OR n.id > ?)"+
			" ORDER BY n.created_at, n.id LIMIT ?",
		append(args, p.CreatedAt, p.CreatedAt, p.ID, limit),
	)
}
