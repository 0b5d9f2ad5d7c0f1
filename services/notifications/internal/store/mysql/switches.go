package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

const kindColumns = "SELECT m.id, m.category, m.name, m.description, m.user_category, m.default_message_params, m.`order`," +
	" m.is_mandatory, m.is_mandatory = 0 AND IFNULL(l.is_disabled, 0) = 1, l.message_params"

const kindTables = " FROM NotificationTypesMaster m LEFT JOIN LabNotificationTypes l ON l.notification_type_id = m.id AND l.lab_id = ?"

func scanKind(row mysqldb.Row, k *notification.Kind, more ...any) error {
	var labParams, params []byte
	err := row.Scan(append([]any{&k.ID, &k.Category, &k.Name, &k.Description, &k.UserCategory, &params, &k.Order,
		&k.Mandatory, &k.Disabled, &labParams}, more...)...)
	k.DefaultParams, k.LabParams = params, labParams
	return err
}

func (s *Store) Kinds(ctx context.Context, lab authn.LabScope) ([]notification.Kind, error) {
	const query = kindColumns + kindTables + " WHERE m.is_active = 1 ORDER BY m.`order`, m.id"
	kinds, err := mysqldb.Collect(ctx, s.db, query, []any{lab.LabID()},
		func(row mysqldb.Row, k *notification.Kind) error { return scanKind(row, k) })
	return kinds, mysqldb.Wrap("read notification types", err)
}

func (s *Store) Kind(ctx context.Context, lab authn.LabScope, typeID int64) (notification.Kind, error) {
	return s.kinds.Do(ctx, sameKind{lab.LabID(), typeID}, struct{}{},
		func(ctx context.Context, _ []struct{}) (notification.Kind, error) { return s.kind(ctx, lab, typeID) })
}

func (s *Store) kind(ctx context.Context, lab authn.LabScope, typeID int64) (k notification.Kind, err error) {
	row := s.db.QueryRowContext(ctx, kindColumns+kindTables+" WHERE m.is_active = 1 AND m.id = ?", lab.LabID(), typeID)
	err = scanKind(row, &k)
	if errors.Is(err, sql.ErrNoRows) {
		return k, s.missing(ctx, typeID)
	}
	return k, mysqldb.Wrap("read notification type", err)
}

// missing returns the reason why there is no active type with this id.
func (s *Store) missing(ctx context.Context, typeID int64) error {
	var inactive bool
	err := s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM NotificationTypesMaster WHERE id = ?)", typeID).Scan(&inactive)
	switch {
	case err != nil:
		return mysqldb.Wrap("find notification type", err)
	case inactive:
		return notification.ErrTypeInactive
	}
	return notification.ErrNoType
}

func (s *Store) SetKinds(
	ctx context.Context,
	lab authn.LabScope,
	switches []notification.Switch,
	userID int64,
	now time.Time,
) error {
	return mysqldb.Wrap("save notification types", mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		for _, one := range switches {
			_, err := tx.ExecContext(
				ctx,
				"INSERT INTO LabNotificationTypes (lab_id, notification_type_id, is_disabled, updated_by, updated_at)"+
					" VALUES (?,?,?,NULLIF(?, 0),?) ON DUPLICATE KEY UPDATE is_disabled = VALUES(is_disabled), updated_by = VALUES(updated_by),"+
					" updated_at = VALUES(updated_at)",
				lab.LabID(),
				one.TypeID,
				one.Disabled,
				userID,
				now.UnixMilli(),
			)
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

func (s *Store) User(ctx context.Context, lab authn.LabScope, userID int64) (exists, admin bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT isAdmin FROM labUser WHERE id = ? AND labId_id = ?", userID, lab.LabID()).
		Scan(&admin)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	return err == nil, admin, mysqldb.Wrap("read user", err)
}

// switchTable describes the table with the switches of a login. Those of a lab user are in the platform's table, which
// has an id only. Other logins are identified by kind and id.
type switchTable struct {
	name    string
	columns []string // columns that identify the login, in addition to the laboratory and the type
	login   []any    // values of these columns
}

func switchesOf(v notification.Viewer) switchTable {
	kind, id := v.Login()
	if v.Audience == notification.WholeLab {
		return switchTable{"UserNotificationPreferences", []string{"lab_user_id"}, []any{id}}
	}
	return switchTable{"LoginNotificationPreferences", []string{"user_type", "user_id"}, []any{kind, id}}
}

func (s *Store) Preferences(ctx context.Context, v notification.Viewer) ([]notification.Preference, error) {
	own := switchesOf(v)
	args := append([]any{v.Lab.LabID(), v.Lab.LabID()}, own.login...)
	list, err := mysqldb.Collect(ctx, s.db, kindColumns+", u.is_disabled"+kindTables+
		" LEFT JOIN "+own.name+" u ON u.notification_type_id = m.id AND u.lab_id = ? AND u."+
		strings.Join(own.columns, " = ? AND u.")+" = ?"+
		" WHERE m.is_active = 1 AND (m.is_mandatory = 1 OR IFNULL(l.is_disabled, 0) = 0) ORDER BY m.`order`, m.id", args,
		func(row mysqldb.Row, p *notification.Preference) error {
			return scanKind(row, &p.Kind, &p.UserDisabled)
		})
	return list, mysqldb.Wrap("read preferences", err)
}

func (s *Store) SetPreferences(
	ctx context.Context, v notification.Viewer, switches []notification.Switch, after outbox.Event, now time.Time,
) error {
	own := switchesOf(v)
	insert := "INSERT INTO " + own.name + " (lab_id, notification_type_id, is_disabled, updated_at, " +
		strings.Join(own.columns, ", ") + ") VALUES (?,?,?,?" + strings.Repeat(",?", len(own.columns)) +
		") ON DUPLICATE KEY UPDATE lab_id = VALUES(lab_id), is_disabled = VALUES(is_disabled), updated_at = VALUES(updated_at)"
	return mysqldb.Wrap("save preferences", mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		for _, one := range switches {
			args := append([]any{v.Lab.LabID(), one.TypeID, one.Disabled, now.UnixMilli()}, own.login...)
			if _, err := tx.ExecContext(ctx, insert, args...); err != nil {
				return err
			}
		}
		_, err := s.outbox.Insert(ctx, tx, now, after)
		return err
	}))
}
