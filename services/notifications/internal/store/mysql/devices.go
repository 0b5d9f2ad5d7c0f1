package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// owner is the viewer as the columns of a device name it.
type owner struct{ org, labUser, doctor sql.NullInt64 }

func ownerOf(v notification.Viewer) owner {
	switch v.Audience {
	case notification.OneOrganization:
		return owner{org: null(v.ID)}
	case notification.OneDoctor:
		return owner{doctor: null(v.ID)}
	default:
		return owner{labUser: null(v.ID)}
	}
}

// owned selects a token while it is the viewer's.
const owned = "token = ? AND lab_id = ? AND org_id <=> ? AND lab_user_id <=> ? AND doctor_id <=> ?"

func ownedArgs(v notification.Viewer, token string) []any {
	o := ownerOf(v)
	return []any{token, v.Lab.LabID(), o.org, o.labUser, o.doctor}
}

// Claim implements device.Store.
func (s *Store) Claim(
	ctx context.Context,
	v notification.Viewer,
	d device.Device,
	now time.Time,
) (l device.Lists, err error) {
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		o := ownerOf(v)
		_, err := tx.ExecContext(
			ctx,
			"INSERT INTO FcmDevices (token, lab_id, topics, last_activity, created_at) VALUES (?,?,'[]',?,?)"+
				" ON DUPLICATE KEY UPDATE token = VALUES(token)",
			d.Token,
			v.Lab.LabID(),
			now.UnixMilli(),
			now.UnixMilli(),
		)
		if err != nil {
			return err
		}
		if l, err = scanLists(
			tx.QueryRowContext(ctx, "SELECT topics, pending_topics FROM FcmDevices WHERE token = ? FOR UPDATE", d.Token).Scan,
		); err != nil {
			return err
		}
		_, err = tx.ExecContext(
			ctx,
			"UPDATE FcmDevices SET lab_id = ?, org_id = ?, lab_user_id = ?, doctor_id = ?, device_id = ?, platform = ?,"+
				" last_activity = ? WHERE token = ?",
			v.Lab.LabID(),
			o.org,
			o.labUser,
			o.doctor,
			text(d.DeviceID),
			text(d.Platform),
			now.UnixMilli(),
			d.Token,
		)
		return err
	})
	return l, mysqldb.Wrap("claim device", err)
}

func text(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// scanLists reads the columns topics and pending_topics, after more. A list that cannot be read is empty: its topics
// are subscribed anew, which does no harm.
func scanLists(scan func(...any) error, more ...any) (device.Lists, error) {
	var confirmed, pending []byte
	if err := scan(append(more, &confirmed, &pending)...); err != nil {
		return device.Lists{}, err
	}
	return device.Lists{Confirmed: topicsOf(confirmed), Pending: topicsOf(pending)}, nil
}

func topicsOf(document []byte) []string {
	var topics []string
	if json.Unmarshal(document, &topics) != nil || len(topics) == 0 {
		return nil
	}
	return topics
}

func topicsColumn(topics []string) (string, error) {
	if topics == nil {
		topics = []string{}
	}
	document, err := json.Marshal(topics)
	return string(document), err
}

// SaveTopics implements device.Store.
func (s *Store) SaveTopics(
	ctx context.Context,
	v notification.Viewer,
	token string,
	l device.Lists,
	now time.Time,
) error {
	confirmed, err := topicsColumn(l.Confirmed)
	if err != nil {
		return mysqldb.Wrap("encode topics", err)
	}
	pending, err := topicsColumn(l.Pending)
	if err != nil {
		return mysqldb.Wrap("encode topics", err)
	}
	var moved bool
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		var id int64
		row := tx.QueryRowContext(ctx, "SELECT id FROM FcmDevices WHERE "+owned+" FOR UPDATE", ownedArgs(v, token)...)
		err := row.Scan(&id)
		if moved = errors.Is(err, sql.ErrNoRows); moved {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE FcmDevices SET topics = ?, pending_topics = ?, last_activity = ? WHERE id = ?",
			confirmed, pending, now.UnixMilli(), id)
		return err
	})
	if err == nil && moved {
		return device.ErrMoved
	}
	return mysqldb.Wrap("save topics", err)
}

// Find implements device.Store.
func (s *Store) Find(
	ctx context.Context, v notification.Viewer, token string,
) (l device.Lists, found bool, err error) {
	row := s.db.QueryRowContext(ctx, "SELECT topics, pending_topics FROM FcmDevices WHERE "+owned, ownedArgs(v, token)...)
	l, err = scanLists(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return device.Lists{}, false, nil
	}
	return l, err == nil, mysqldb.Wrap("read device", err)
}

// Forget implements device.Store.
func (s *Store) Forget(ctx context.Context, v notification.Viewer, token string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM FcmDevices WHERE "+owned, ownedArgs(v, token)...)
	return mysqldb.Wrap("delete device", err)
}

// OfUser implements device.Store.
func (s *Store) OfUser(ctx context.Context, lab authn.LabScope, userID int64) ([]device.Device, error) {
	rows, err := s.db.QueryContext(
		ctx,
		"SELECT token, topics, pending_topics FROM FcmDevices WHERE lab_id = ? AND lab_user_id = ? AND org_id IS NULL"+
			" AND doctor_id IS NULL ORDER BY id",
		lab.LabID(),
		userID,
	)
	if err != nil {
		return nil, mysqldb.Wrap("read devices", err)
	}
	defer rows.Close()
	var list []device.Device
	for rows.Next() {
		var d device.Device
		if d.Lists, err = scanLists(rows.Scan, &d.Token); err != nil {
			return nil, mysqldb.Wrap("read devices", err)
		}
		list = append(list, d)
	}
	return list, mysqldb.Wrap("read devices", rows.Err())
}

// Wanted implements device.Store. Only lab users have switches of their own.
func (s *Store) Wanted(ctx context.Context, v notification.Viewer) ([]notification.Kind, error) {
	userID := int64(0)
	if v.Type == "lab_user" {
		userID = v.ID
	}
	preferences, err := s.Preferences(ctx, v.Lab, userID)
	if err != nil {
		return nil, err
	}
	var kinds []notification.Kind
	for _, p := range preferences {
		if !p.Effective() {
			kinds = append(kinds, p.Kind)
		}
	}
	return kinds, nil
}
