package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

var sweepLock = mysqldb.Lock{Service: "notifications", Purpose: "sweep"}

var renameLock = mysqldb.Lock{Service: "notifications", Purpose: "rename"}

// Locks returns the leader locks of the service's loops.
func Locks() []mysqldb.Lock {
	return []mysqldb.Lock{outbox.Lock("notifications"), sweepLock, renameLock}
}

func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, sweepLock, work)
	return err
}

// Idle returns devices of all laboratories. Each is changed within the scope of its laboratory.
func (s *Store) Idle(ctx context.Context, before time.Time, after sweep.Position, limit int) ([]sweep.Device, error) {
	from := max(after.LastActivity.UnixMilli(), 0)
	const query = "SELECT id, lab_id, token, last_activity FROM FcmDevices WHERE last_activity < ?" +
		" AND last_activity >= ? AND (last_activity > ? OR id > ?) ORDER BY last_activity, id LIMIT ?"
	list, err := mysqldb.Collect(ctx, s.db, query, []any{before.UnixMilli(), from, from, after.ID, limit},
		func(row mysqldb.Row, d *sweep.Device) error {
			var last int64
			err := row.Scan(&d.ID, &d.LabID, &d.Token, &last)
			d.LastActivity = time.UnixMilli(last)
			return err
		})
	return list, mysqldb.Wrap("find idle devices", err)
}

func (s *Store) Suspect(ctx context.Context, lab authn.LabScope, token string, before time.Time) (bool, error) {
	return s.whileIdle(ctx, lab, token, before, func(tx *sql.Tx, id int64, l device.Lists) error {
		return writeLists(ctx, tx, id, l.InDoubt(l.All()))
	})
}

func (s *Store) Retire(
	ctx context.Context, lab authn.LabScope, token string, before time.Time, unsubscribe func([]string) error,
) (bool, error) {
	return s.whileIdle(ctx, lab, token, before, func(tx *sql.Tx, id int64, l device.Lists) error {
		if err := unsubscribe(l.All()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM FcmDevices WHERE id = ?", id)
		return err
	})
}

// whileIdle calls do while it holds the lock on the device's row. It returns false if the device does not exist or is
// not idle.
func (s *Store) whileIdle(
	ctx context.Context,
	lab authn.LabScope,
	token string,
	before time.Time,
	do func(tx *sql.Tx, id int64, l device.Lists) error,
) (idle bool, err error) {
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		var id int64
		l, err := scanLists(
			tx.QueryRowContext(
				ctx,
				"SELECT id, generation, topics, pending_topics FROM FcmDevices WHERE token = ? AND lab_id = ?"+
					" AND last_activity < ? FOR UPDATE",
				token,
				lab.LabID(),
				before.UnixMilli(),
			).Scan,
			&id,
		)
		if idle = !errors.Is(err, sql.ErrNoRows); !idle {
			return nil
		}
		if err != nil {
			return err
		}
		return do(tx, id, l)
	})
	return idle && err == nil, mysqldb.Wrap("change idle device", err)
}
