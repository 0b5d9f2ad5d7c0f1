package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// readMark is what is known of the beginning of a login's inbox: from From to Until these notifications are unread, and
// no others. It is kept, so that who has read a month's notifications is not counted through it with every look.
type readMark struct {
	From, Until int64 // epoch seconds
	unread      []int64
	version     int64 // raised by who marks something unread
	known       bool
}

const (
	// settled is how old a second must be before a mark may cover it: a notification is dated before its transaction ends.
	settled = time.Minute
	// markEvery is how much of the inbox a count looks at again before the mark is moved.
	markEvery = 10 * time.Minute
)

func (s *Store) Unread(ctx context.Context, v notification.Viewer, w notification.Window, most int) (int64, error) {
	mark, err := s.readMark(ctx, v)
	if err != nil {
		return 0, err
	}
	covered := mark.Until > 0 && mark.From <= w.From && mark.Until >= w.From && mark.Until <= w.To
	var old []int64
	from := w.From
	if covered {
		from = mark.Until + 1
		if old, err = s.stillUnread(ctx, v, w, mark.unread); err != nil {
			return 0, err
		}
	}
	fresh, err := s.unreadIn(ctx, v, notification.Window{From: from, To: w.To}, most)
	if err != nil {
		return 0, err
	}
	unread := len(old) + len(fresh.ids)
	until := min(w.To, s.clock.Now().Add(-settled).Unix())
	next := readMark{From: w.From, Until: until, version: mark.version, known: mark.known}
	if len(fresh.ids) >= most { // no one looked behind these, and everything before them is read
		next.Until = min(next.Until, fresh.times[0]-1)
	}
	next.unread = append(old, fresh.until(next.Until)...)
	if len(next.unread) < most && next.Until-from >= int64(markEvery/time.Second) {
		if err := s.saveReadMark(ctx, v, next); err != nil {
			return 0, err
		}
	}
	return int64(min(unread, most)), nil
}

// found are unread notifications with their times, the oldest first.
type found struct{ ids, times []int64 }

func (f found) until(last int64) (ids []int64) {
	for i, id := range f.ids {
		if f.times[i] <= last {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *Store) unreadIn(ctx context.Context, v notification.Viewer, w notification.Window, most int) (found, error) {
	condition, args := visible(v)
	args = append(append(readerArgs(v), args...), w.From, w.To, most)
	return s.scanUnread(ctx, condition+" AND n.created_at BETWEEN ? AND ? AND r.read_on IS NULL"+
		" ORDER BY n.created_at, n.id LIMIT ?", args)
}

// stillUnread returns which of the notifications are in the window and unread.
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

func (s *Store) readMark(ctx context.Context, v notification.Viewer) (m readMark, err error) {
	kind, login := v.Login()
	var unread []byte
	err = s.db.QueryRowContext(ctx, "SELECT from_at, until_at, unread, version FROM NotificationReadMark WHERE lab_id = ?"+
		" AND user_type = ? AND user_id = ?", v.Lab.LabID(), kind, login).Scan(&m.From, &m.Until, &unread, &m.version)
	if errors.Is(err, sql.ErrNoRows) {
		return readMark{}, nil
	}
	if err != nil {
		return m, mysqldb.Wrap("read mark", err)
	}
	m.known = true
	if len(unread) > 0 && json.Unmarshal(unread, &m.unread) != nil {
		m.Until = 0 // what cannot be read is counted again
	}
	return m, nil
}

// saveReadMark does nothing when something was marked unread since the count began.
func (s *Store) saveReadMark(ctx context.Context, v notification.Viewer, m readMark) error {
	kind, login := v.Login()
	unread, err := json.Marshal(m.unread)
	if err != nil {
		return fmt.Errorf("encode mark: %w", err)
	}
	statement := "UPDATE NotificationReadMark SET from_at = ?, until_at = ?, unread = ? WHERE lab_id = ?" +
		" AND user_type = ? AND user_id = ? AND version = ?"
	args := []any{m.From, m.Until, string(unread), v.Lab.LabID(), kind, login, m.version}
	if !m.known {
		statement = "INSERT IGNORE INTO NotificationReadMark (from_at, until_at, unread, lab_id, user_type, user_id, version)" +
			" VALUES (?,?,?,?,?,?,?)"
	}
	_, err = s.db.ExecContext(ctx, statement, args...)
	return mysqldb.Wrap("save mark", err)
}

// forgetMark is for who marks something unread again.
func forgetMark(ctx context.Context, tx *sql.Tx, v notification.Viewer) error {
	kind, login := v.Login()
	const statement = "INSERT INTO NotificationReadMark (lab_id, user_type, user_id, version) VALUES (?,?,?,1)" +
		" ON DUPLICATE KEY UPDATE until_at = 0, version = version + 1"
	_, err := tx.ExecContext(ctx, statement, v.Lab.LabID(), kind, login)
	return err
}
