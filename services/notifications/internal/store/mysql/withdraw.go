package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/withdraw"
)

// withdrawal is one row of NotificationWithdrawals.
type withdrawal struct {
	lab    authn.LabScope
	key    string
	reason notification.Reason
	now    time.Time
}

// Withdraw inserts the key's row before it reads the notice, and Add inserts the notice before it reads the key's row.
// Whichever runs second therefore sees the row of the first.
func (s *Store) Withdraw(
	ctx context.Context, lab authn.LabScope, key string, reason notification.Reason, now time.Time,
	decide func(withdraw.Facts, notification.Reason) withdraw.Decision,
) (withdraw.Decision, error) {
	w := withdrawal{lab, key, reason, now}
	d, err := mysqldb.Change(ctx, s.db,
		func(tx *sql.Tx) (withdraw.Facts, error) { return w.load(ctx, tx) },
		func(f withdraw.Facts) (withdraw.Decision, error) { return decide(f, reason), nil },
		func(tx *sql.Tx, d withdraw.Decision) error { return w.apply(ctx, tx, d) })
	return d, mysqldb.Wrap("withdraw notice", err)
}

func (w withdrawal) load(ctx context.Context, tx *sql.Tx) (f withdraw.Facts, err error) {
	if w.reason == notification.PartlyWrong { // no row, because a row would stop the notice's push
		return f, w.notice(ctx, tx, &f)
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO NotificationWithdrawals (dedupe_key, reason, lab_id, withdrawn_at)"+
		" VALUES (?,?,?,?) ON DUPLICATE KEY UPDATE reason = VALUES(reason)", w.key, w.reason, w.lab.LabID(), w.now.Unix())
	if err != nil {
		return f, err
	}
	var found, read sql.NullBool
	err = tx.QueryRowContext(ctx, "SELECT found, was_read FROM NotificationWithdrawals WHERE dedupe_key = ?"+
		" AND reason = ? AND lab_id = ? FOR UPDATE", w.key, w.reason, w.lab.LabID()).Scan(&found, &read)
	if err != nil {
		return f, err
	}
	if found.Valid {
		f.First = &withdraw.Answer{Found: found.Bool, WasRead: read.Bool}
		return f, nil
	}
	return f, w.notice(ctx, tx, &f)
}

// notice locks the notice and reads whether a receiver has read it. Marking holds a shared lock on the notification, so
// all of its readers are known once this lock is granted.
func (w withdrawal) notice(ctx context.Context, tx *sql.Tx, f *withdraw.Facts) error {
	var document []byte
	err := tx.QueryRowContext(ctx, "SELECT id, message FROM Notifications WHERE dedupe_key = ? AND lab_id = ? FOR UPDATE",
		w.key, w.lab.LabID()).Scan(&f.NotificationID, &document)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find notice: %w", err)
	}
	f.Message = messageOf(document)
	return tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM NotificationActivity WHERE notification_id = ?"+
		" AND lab_id = ? AND activity IN ('read', 'clicked'))", f.NotificationID, w.lab.LabID()).Scan(&f.Read)
}

func (w withdrawal) apply(ctx context.Context, tx *sql.Tx, d withdraw.Decision) error {
	if !d.Record {
		return nil
	}
	var reworded sql.NullInt64
	if d.Reword != nil {
		reworded = sql.NullInt64{Int64: w.now.Unix(), Valid: true}
		if err := w.reword(ctx, tx, d.NotificationID, *d.Reword); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "UPDATE NotificationWithdrawals SET notification_id = ?, found = ?, was_read = ?,"+
		" reworded_at = ? WHERE dedupe_key = ? AND reason = ? AND lab_id = ?",
		null(d.NotificationID), d.Found, d.WasRead, reworded, w.key, w.reason, w.lab.LabID())
	return err
}

func (w withdrawal) reword(ctx context.Context, tx *sql.Tx, id int64, m notification.Message) error {
	document, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	_, err = tx.ExecContext(ctx, "UPDATE Notifications SET message = ? WHERE id = ? AND lab_id = ?",
		string(document), id, w.lab.LabID())
	return err
}

// isNotReady is the condition of notifications n about a report that is not ready any more. The report's id in the
// context is a number, or digits in a string.
const isNotReady = "n.notification_type_id = ? AND EXISTS (SELECT 1 FROM labReportRelation r WHERE r.labId_id = n.lab_id" +
	" AND r.id = CAST(JSON_UNQUOTE(JSON_EXTRACT(n.context, '$.lrr_id')) AS SIGNED)" +
	" AND (r.dismissed <> 0 OR r.sampleRedrawFlag IN (3, 4)))"

// Sending reads with one statement whether the notification was withdrawn, whether the laboratory has switched its type
// off, and whether its report is not ready. For a notification that does not exist all three are false.
func (s *Store) Sending(ctx context.Context, lab authn.LabScope, id int64) (now notify.Sending, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM NotificationWithdrawals w"+
		" WHERE w.dedupe_key = n.dedupe_key), IFNULL(m.is_mandatory, 0) = 0 AND IFNULL(l.is_disabled, 0) = 1, "+isNotReady+
		" FROM Notifications n LEFT JOIN NotificationTypesMaster m ON m.id = n.notification_type_id"+
		" LEFT JOIN LabNotificationTypes l ON l.notification_type_id = n.notification_type_id AND l.lab_id = n.lab_id"+
		" WHERE n.id = ? AND n.lab_id = ?", notification.ReportReady, id, lab.LabID()).
		Scan(&now.Withdrawn, &now.TypeOff, &now.NotReady)
	if errors.Is(err, sql.ErrNoRows) {
		return notify.Sending{}, nil
	}
	return now, mysqldb.Wrap("check push", err)
}

func (s *Store) Reworded(
	ctx context.Context, v notification.Viewer, since int64, limit int,
) ([]live.Rewording, error) {
	condition, args := visible(v)
	args = append(readerArgs(v), append([]any{v.Lab.LabID(), since}, args...)...)
	list, err := mysqldb.Collect(ctx, s.db, "SELECT n.id, n.notification_type_id, n.message, n.created_at, r.read_on,"+
		" w.reworded_at FROM NotificationWithdrawals w JOIN Notifications n ON n.id = w.notification_id"+readStateJoin+
		" WHERE w.lab_id = ? AND w.reworded_at >= ? AND "+condition+" ORDER BY w.reworded_at DESC, n.id DESC LIMIT ?",
		append(args, limit), func(row mysqldb.Row, r *live.Rewording) error {
			var document []byte
			err := row.Scan(&r.ID, &r.TypeID, &document, &r.CreatedAt, &r.ReadOn, &r.At)
			r.Message = messageOf(document)
			return err
		})
	if err != nil {
		return nil, mysqldb.Wrap("list withdrawn notifications", err)
	}
	messages := make([]*notification.Message, len(list))
	for i := range list {
		messages[i] = &list[i].Message
	}
	return list, s.withBills(ctx, v.Lab, messages)
}
