package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// addition is a notification to store, with the result.
type addition struct {
	notify.New

	ctx     context.Context // values of the request's context, without its cancellation
	lab     authn.LabScope
	message string
	push    func(id int64) (outbox.Event, error)
	now     time.Time

	notify.Addition

	err error
}

// Add stores a notification. It combines concurrent triggers of a laboratory that have a deduplication key in one
// transaction.
func (s *Store) Add(
	ctx context.Context, lab authn.LabScope, n notify.New, push func(id int64) (outbox.Event, error), now time.Time,
) (notify.Addition, error) {
	message, err := json.Marshal(n.Message)
	if err != nil {
		return notify.Addition{}, fmt.Errorf("encode message: %w", err)
	}
	a := &addition{
		ctx: context.WithoutCancel(ctx), lab: lab, New: n, message: string(message), push: push, now: now,
	}
	if n.DedupeKey == "" {
		s.addOne(ctx, a)
	} else if _, err := s.additions.Do(ctx, lab.LabID(), a, s.addAll); err != nil {
		return notify.Addition{}, err
	}
	return a.Addition, a.err
}

// addAll stores concurrent additions in one transaction. If one of them exists already or cannot be stored, it stores
// each in its own.
func (s *Store) addAll(ctx context.Context, all []*addition) (struct{}, error) {
	if len(all) > 1 {
		err := mysqldb.Wrap("save notifications", s.addTogether(ctx, all))
		if err == nil || apperr.Is(err, apperr.Unavailable) {
			return struct{}{}, err
		}
	}
	for _, a := range all {
		s.addOne(ctx, a)
	}
	return struct{}{}, nil
}

const insertNotification = "INSERT INTO Notifications (lab_id, org_id, lab_user_id, doctor_id, notification_type_id, message," +
	" context, topic, dedupe_key, created_at) VALUES (?,?,?,?,?,?,?,?,?,?)"

func (a *addition) args() []any {
	return []any{
		a.lab.LabID(), null(a.OrgID), null(a.LabUserID), null(a.DoctorID), a.TypeID, a.message, string(a.Context), a.Topic,
		sql.NullString{String: a.DedupeKey, Valid: a.DedupeKey != ""}, a.now.Unix(),
	}
}

// errWithdrawn rolls back the addition of a notification that was withdrawn before.
var errWithdrawn = errors.New("the notice was withdrawn before it came")

func (s *Store) addTogether(ctx context.Context, all []*addition) error {
	insert := insertNotification + strings.Repeat(",(?,?,?,?,?,?,?,?,?,?)", len(all)-1)
	marks := "(?" + strings.Repeat(",?", len(all)-1) + ")"
	var rows, keys []any
	for _, a := range all {
		rows, keys = append(rows, a.args()...), append(keys, a.DedupeKey)
	}
	ids := map[string]int64{}
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, insert, rows...); err != nil {
			return err
		}
		if err := notWithdrawn(ctx, tx, marks, keys); err != nil {
			return err
		}
		find := "SELECT id, dedupe_key FROM Notifications WHERE dedupe_key IN " + marks
		if err := readIDs(ctx, tx, find, keys, ids); err != nil {
			return err
		}
		for _, a := range all {
			if err := s.send(tx, a, ids[a.DedupeKey]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, a := range all {
		a.Addition = notify.Addition{Outcome: notify.Stored, ID: ids[a.DedupeKey]}
	}
	return nil
}

// notWithdrawn returns errWithdrawn if one of the keys was withdrawn. It waits for a withdrawal in progress. It runs
// after the insertion, so that a later withdrawal finds the notification.
func notWithdrawn(ctx context.Context, tx *sql.Tx, marks string, keys []any) error {
	var withdrawn string
	err := tx.QueryRowContext(ctx, "SELECT dedupe_key FROM NotificationWithdrawals WHERE dedupe_key IN "+marks+
		" LIMIT 1 LOCK IN SHARE MODE", keys...).Scan(&withdrawn)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find withdrawal: %w", err)
	}
	return errWithdrawn
}

func readIDs(ctx context.Context, tx *sql.Tx, query string, keys []any, ids map[string]int64) error {
	return mysqldb.Each(ctx, tx, query, keys, func(rows *sql.Rows) error {
		var id int64
		var key string
		err := rows.Scan(&id, &key)
		ids[key] = id
		return err
	})
}

// send inserts the message to the task queue, if there is one, into the outbox in the transaction of the notification.
func (s *Store) send(tx *sql.Tx, a *addition, id int64) error {
	if a.push == nil {
		return nil
	}
	event, err := a.push(id)
	if err != nil {
		return err
	}
	_, err = s.outbox.Insert(a.ctx, tx, a.now, event)
	return err
}

func (s *Store) addOne(ctx context.Context, a *addition) {
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) (err error) {
		a.Addition, err = s.add(ctx, tx, a)
		return err
	})
	if errors.Is(err, errWithdrawn) {
		a.Addition, err = notify.Addition{Outcome: notify.Withdrawn}, nil
	}
	a.err = mysqldb.Wrap("save notification", err)
}

func (s *Store) add(ctx context.Context, tx *sql.Tx, a *addition) (notify.Addition, error) {
	result, err := tx.ExecContext(ctx, insertNotification, a.args()...)
	if mysqldb.IsDuplicate(err) {
		return readFirst(ctx, tx, a)
	}
	if err != nil {
		return notify.Addition{}, err
	}
	if a.DedupeKey != "" {
		if err := notWithdrawn(ctx, tx, "(?)", []any{a.DedupeKey}); err != nil {
			return notify.Addition{}, err
		}
	}
	id, err := result.LastInsertId()
	if err != nil {
		return notify.Addition{}, err
	}
	return notify.Addition{Outcome: notify.Stored, ID: id}, s.send(tx, a, id)
}

// readFirst reads the notification that has the dedupe key.
func readFirst(ctx context.Context, tx *sql.Tx, a *addition) (notify.Addition, error) {
	found := notify.Addition{Outcome: notify.Repeated}
	var topic sql.NullString
	var document []byte
	err := tx.QueryRowContext(ctx, "SELECT id, notification_type_id, context, topic FROM Notifications"+
		" WHERE dedupe_key = ? AND lab_id = ?", a.DedupeKey, a.lab.LabID()).
		Scan(&found.ID, &found.First.TypeID, &document, &topic)
	found.First.Context, found.First.Topic = document, topic.String
	return found, err
}
