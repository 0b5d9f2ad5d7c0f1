package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// addition is a notification to store and the result.
type addition struct {
	ctx context.Context // of the request, for its values; without its cancellation
	lab authn.LabScope
	notify.New
	message string
	push    func(id int64) (outbox.Event, error)
	now     time.Time

	id    int64
	added bool
	err   error
}

// Add stores concurrent triggers of a laboratory in one transaction.
func (s *Store) Add(
	ctx context.Context, lab authn.LabScope, n notify.New, push func(id int64) (outbox.Event, error), now time.Time,
) (id int64, added bool, err error) {
	message, err := json.Marshal(n.Message)
	if err != nil {
		return 0, false, fmt.Errorf("encode message: %w", err)
	}
	a := &addition{
		ctx: context.WithoutCancel(ctx), lab: lab, New: n, message: string(message), push: push, now: now,
	}
	if n.DedupeKey == "" {
		s.addOne(ctx, a)
	} else if _, err := s.additions.Do(ctx, lab.LabID(), a, s.addAll); err != nil {
		return 0, false, err
	}
	return a.id, a.added, a.err
}

// addAll stores concurrent additions in one transaction, or one by one when one of them exists already or cannot be
// stored.
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

func (s *Store) addTogether(ctx context.Context, all []*addition) error {
	insert := insertNotification + strings.Repeat(",(?,?,?,?,?,?,?,?,?,?)", len(all)-1)
	find := "SELECT id, dedupe_key FROM Notifications WHERE dedupe_key IN (?" + strings.Repeat(",?", len(all)-1) + ")"
	var rows, keys []any
	for _, a := range all {
		rows, keys = append(rows, a.args()...), append(keys, a.DedupeKey)
	}
	ids := map[string]int64{}
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, insert, rows...); err != nil {
			return err
		}
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
		a.id, a.added = ids[a.DedupeKey], true
	}
	return nil
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

// send inserts the message to the task queue in the transaction of the notification.
func (s *Store) send(tx *sql.Tx, a *addition, id int64) error {
	event, err := a.push(id)
	if err != nil {
		return err
	}
	_, err = s.outbox.Insert(a.ctx, tx, a.now, event)
	return err
}

func (s *Store) addOne(ctx context.Context, a *addition) {
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		a.id, a.added = 0, false
		result, err := tx.ExecContext(ctx, insertNotification, a.args()...)
		if mysqldb.IsDuplicate(err) {
			const find = "SELECT id FROM Notifications WHERE dedupe_key = ? AND lab_id = ?"
			return tx.QueryRowContext(ctx, find, a.DedupeKey, a.lab.LabID()).Scan(&a.id)
		}
		if err != nil {
			return err
		}
		if a.id, err = result.LastInsertId(); err != nil {
			return err
		}
		a.added = true
		return s.send(tx, a, a.id)
	})
	a.err = mysqldb.Wrap("save notification", err)
}
