package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// counted is the result of an earlier count of unread notifications: of a login's notifications from From to Until,
// exactly those in unread are unread. It is stored in NotificationReadMark, so that a count need not read a whole month
// of read notifications again.
type counted struct {
	From, Until int64 // epoch seconds; an Until of 0 means that nothing was counted
	unread      []int64
	version     int64 // increased when the login marks a notification as unread
	stored      bool
}

const (
	// settled is the minimum age of counted notifications, because a notification is dated before its transaction commits.
	settled = time.Minute
	// countedStep is the minimum time by which the counted part must grow to be stored: one write per ten minutes, not one
	// per count.
	countedStep = 10 * time.Minute
)

// covers reports whether the counted part is at the beginning of the window.
func (c counted) covers(w notification.Window) bool {
	return c.Until > 0 && c.From <= w.From && c.Until >= w.From && c.Until <= w.To
}

// rest returns the part of the window that still has to be counted.
func (c counted) rest(w notification.Window) notification.Window {
	if c.covers(w) {
		w.From = c.Until + 1
	}
	return w
}

// next returns the counted part after a count of the window at now, and whether it should be stored. old are the
// notifications of c that are still unread. fresh are the oldest unread ones of the rest, at most limit.
func (c counted) next(w notification.Window, old []int64, fresh found, limit int, now time.Time) (counted, bool) {
	n := counted{From: w.From, Until: min(w.To, now.Add(-settled).Unix()), version: c.version, stored: c.stored}
	if len(fresh.ids) >= limit { // the limit was reached: all notifications before the oldest of them are read
		n.Until = min(n.Until, fresh.times[0]-1)
	}
	n.unread = append(old, fresh.until(n.Until)...)
	return n, len(n.unread) < limit && n.Until-c.rest(w).From >= int64(countedStep/time.Second)
}

func (s *Store) readCounted(ctx context.Context, v notification.Viewer) (c counted, err error) {
	kind, login := v.Login()
	var unread []byte
	err = s.db.QueryRowContext(ctx, "SELECT from_at, until_at, unread, version FROM NotificationReadMark WHERE lab_id = ?"+
		" AND user_type = ? AND user_id = ?", v.Lab.LabID(), kind, login).Scan(&c.From, &c.Until, &unread, &c.version)
	if errors.Is(err, sql.ErrNoRows) {
		return counted{}, nil
	}
	if err != nil {
		return c, mysqldb.Wrap("read counted part", err)
	}
	c.stored = true
	if len(unread) > 0 && json.Unmarshal(unread, &c.unread) != nil {
		c.Until = 0 // an unreadable list is counted again
	}
	return c, nil
}

// writeCounted stores the counted part, unless the login has marked a notification as unread since the count began.
func (s *Store) writeCounted(ctx context.Context, v notification.Viewer, c counted) error {
	kind, login := v.Login()
	unread, err := json.Marshal(c.unread)
	if err != nil {
		return fmt.Errorf("encode counted part: %w", err)
	}
	statement := "UPDATE NotificationReadMark SET from_at = ?, until_at = ?, unread = ? WHERE lab_id = ?" +
		" AND user_type = ? AND user_id = ? AND version = ?"
	args := []any{c.From, c.Until, string(unread), v.Lab.LabID(), kind, login, c.version}
	if !c.stored {
		statement = "INSERT IGNORE INTO NotificationReadMark (from_at, until_at, unread, lab_id, user_type, user_id, version)" +
			" VALUES (?,?,?,?,?,?,?)"
	}
	_, err = s.db.ExecContext(ctx, statement, args...)
	return mysqldb.Wrap("write counted part", err)
}

// resetCounted makes the next count read the whole inbox of the login. It runs in the transaction that marks a
// notification as unread.
func resetCounted(ctx context.Context, tx *sql.Tx, v notification.Viewer) error {
	kind, login := v.Login()
	const statement = "INSERT INTO NotificationReadMark (lab_id, user_type, user_id, version) VALUES (?,?,?,1)" +
		" ON DUPLICATE KEY UPDATE until_at = 0, version = version + 1"
	_, err := tx.ExecContext(ctx, statement, v.Lab.LabID(), kind, login)
	return err
}
