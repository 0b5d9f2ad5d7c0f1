package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// Unread returns how many notifications of the window are unread, at most limit. It reads the counted part's unread
// notifications and the rest of the window.
//
// Do not add a condition that can change, such as a switched-off type, to the queries of this file. The counted part
// would be stored without the notifications that it hides, and they would stay out of the count after the switch is on
// again. A write that makes notifications unread or visible later than they are dated calls resetCounted.
func (s *Store) Unread(ctx context.Context, v notification.Viewer, w notification.Window, limit int) (int64, error) {
	part, err := s.readCounted(ctx, v)
	if err != nil {
		return 0, err
	}
	var old []int64
	if part.covers(w) {
		if old, err = s.stillUnread(ctx, v, w, part.unread); err != nil {
			return 0, err
		}
	}
	fresh, err := s.unreadIn(ctx, v, part.rest(w), limit)
	if err != nil {
		return 0, err
	}
	unread := int64(min(len(old)+len(fresh.ids), limit))
	if next, worth := part.next(w, old, fresh, limit, s.clock.Now()); worth {
		return unread, s.writeCounted(ctx, v, next)
	}
	return unread, nil
}

// found holds unread notifications with their times, the oldest first.
type found struct{ ids, times []int64 }

func (f found) until(last int64) (ids []int64) {
	for i, id := range f.ids {
		if f.times[i] <= last {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *Store) unreadIn(
	ctx context.Context, v notification.Viewer, w notification.Window, limit int,
) (found, error) {
	condition, args := visible(v)
	args = append(append(readerArgs(v), args...), w.From, w.To, limit)
	return s.scanUnread(ctx, condition+" AND n.created_at BETWEEN ? AND ? AND r.read_on IS NULL"+
		" ORDER BY n.created_at, n.id LIMIT ?", args)
}

// stillUnread returns those of the notifications that are in the window and unread.
func (s *Store) stillUnread(
	ctx context.Context, v notification.Viewer, w notification.Window, ids []int64,
) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	condition, args := visible(v)
	args = append(append(readerArgs(v), args...), w.From, w.To)
	for _, id := range ids {
		args = append(args, id)
	}
	f, err := s.scanUnread(ctx, condition+" AND n.created_at BETWEEN ? AND ? AND r.read_on IS NULL AND n.id IN (?"+
		strings.Repeat(",?", len(ids)-1)+")", args)
	return f.ids, err
}

func (s *Store) scanUnread(ctx context.Context, condition string, args []any) (f found, err error) {
	query := "SELECT n.id, n.created_at FROM Notifications n" + readStateJoin + " WHERE " + condition
	err = mysqldb.Each(ctx, s.db, query, args, func(rows *sql.Rows) error {
		var id, at int64
		err := rows.Scan(&id, &at)
		f.ids, f.times = append(f.ids, id), append(f.times, at)
		return err
	})
	return f, mysqldb.Wrap("count unread", err)
}
