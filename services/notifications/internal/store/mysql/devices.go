package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// owner holds the columns that identify the owner of a device.
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

// owned is the condition of a token of the viewer. A row whose user_type does not identify the login of an organization
// belongs to all of its logins.
const owned = "token = ? AND lab_id = ? AND user_type IN (?, ?) AND COALESCE(org_id, doctor_id, lab_user_id) = ?"

func ownedArgs(v notification.Viewer, token string) []any {
	kind, id := v.Login()
	return []any{token, v.Lab.LabID(), kind, v.Type, id}
}

func (s *Store) Claim(
	ctx context.Context, v notification.Viewer, d device.Device, now time.Time,
) (l device.Lists, err error) {
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO FcmDevices (token, lab_id, topics, last_activity, created_at)"+
			" VALUES (?,?,'[]',?,?) ON DUPLICATE KEY UPDATE token = VALUES(token)",
			d.Token, v.Lab.LabID(), now.UnixMilli(), now.UnixMilli())
		if err != nil {
			return err
		}
		var same bool
		o := ownerOf(v)
		kind, id := v.Login()
		row := tx.QueryRowContext(ctx, "SELECT lab_id = ? AND user_type = ?"+
			" AND IFNULL(COALESCE(org_id, doctor_id, lab_user_id), 0) = ?, generation, topics, pending_topics"+
			" FROM FcmDevices WHERE token = ? FOR UPDATE", v.Lab.LabID(), kind, id, d.Token)
		if l, err = scanLists(row.Scan, &same); err != nil {
			return err
		}
		if !same {
			l.Generation++
		}
		_, err = tx.ExecContext(
			ctx,
			"UPDATE FcmDevices SET lab_id = ?, user_type = ?, org_id = ?, lab_user_id = ?, doctor_id = ?,"+
				" device_id = ?, platform = ?, last_activity = ?, generation = ? WHERE token = ?",
			v.Lab.LabID(),
			kind,
			o.org,
			o.labUser,
			o.doctor,
			text(d.DeviceID),
			text(d.Platform),
			now.UnixMilli(),
			l.Generation,
			d.Token,
		)
		return err
	})
	return l, mysqldb.Wrap("claim device", err)
}

func text(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// scanLists scans the columns generation, topics and pending_topics, after those in more. A list that cannot be parsed
// is empty; its topics are then subscribed again, which has no effect.
func scanLists(scan func(...any) error, more ...any) (l device.Lists, err error) {
	var confirmed, pending []byte
	if err := scan(append(more, &l.Generation, &confirmed, &pending)...); err != nil {
		return device.Lists{}, err
	}
	l.Confirmed, l.Pending = topicsOf(confirmed), topicsOf(pending)
	return l, nil
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

func (s *Store) SaveTopics(
	ctx context.Context, v notification.Viewer, token string, l device.Lists,
) error {
	confirmed, err := topicsColumn(l.Confirmed)
	if err != nil {
		return mysqldb.Wrap("encode topics", err)
	}
	pending, err := topicsColumn(l.Pending)
	if err != nil {
		return mysqldb.Wrap("encode topics", err)
	}
	args := append([]any{confirmed, pending}, ownedArgs(v, token)...)
	result, err := s.db.ExecContext(ctx, "UPDATE FcmDevices SET topics = ?, pending_topics = ?,"+
		" generation = generation + 1 WHERE "+owned+" AND generation = ?", append(args, l.Generation)...)
	return oneRow("save topics", result, err)
}

// oneRow returns ErrMoved if the statement changed no row.
func oneRow(operation string, result sql.Result, err error) error {
	if err != nil {
		return mysqldb.Wrap(operation, err)
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return mysqldb.Wrap(operation, err)
	}
	return device.ErrMoved
}

// Undo undoes changes at the provider. For a token without a row, it inserts one without an owner, which the sweep
// deletes.
func (s *Store) Undo(
	ctx context.Context, v notification.Viewer, token string, done device.Done, undo func(extra, missing []string) error,
) error {
	pending, err := topicsColumn(done.Added)
	if err != nil {
		return mysqldb.Wrap("encode topics", err)
	}
	_, err = s.db.ExecContext(
		ctx,
		"INSERT INTO FcmDevices (token, lab_id, topics, pending_topics, last_activity, created_at)"+
			" VALUES (?,?,'[]',?,0,0) ON DUPLICATE KEY UPDATE token = VALUES(token)",
		token,
		v.Lab.LabID(),
		pending,
	)
	if err != nil {
		return mysqldb.Wrap("keep topics", err)
	}
	return mysqldb.Wrap("undo topics", mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		var id int64
		var ownerless bool
		row := tx.QueryRowContext(ctx, "SELECT id, COALESCE(org_id, doctor_id, lab_user_id) IS NULL, generation, topics,"+
			" pending_topics FROM FcmDevices WHERE token = ? FOR UPDATE", token)
		l, err := scanLists(row.Scan, &id, &ownerless)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // the sweep has deleted the row in the meantime
		}
		if err != nil {
			return err
		}
		if ownerless {
			return forgetOwnerless(ctx, tx, id, undo(l.All(), nil))
		}
		extra, missing := done.Reverse(l)
		if undo(extra, missing) == nil {
			return nil
		}
		return writeLists(ctx, tx, id, l.InDoubt(append(extra, missing...)))
	}))
}

// forgetOwnerless deletes a row without an owner, unless the provider failed to remove its topics.
func forgetOwnerless(ctx context.Context, tx *sql.Tx, id int64, failed error) error {
	if failed != nil {
		return nil //nolint:nilerr // the row stays, so that the sweep tries again
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM FcmDevices WHERE id = ?", id)
	return err
}

// writeLists stores the topics of a locked row.
func writeLists(ctx context.Context, tx *sql.Tx, id int64, l device.Lists) error {
	confirmed, err := topicsColumn(l.Confirmed)
	if err != nil {
		return err
	}
	pending, err := topicsColumn(l.Pending)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE FcmDevices SET topics = ?, pending_topics = ?, generation = generation + 1"+
		" WHERE id = ?", confirmed, pending, id)
	return err
}

func (s *Store) Find(
	ctx context.Context, v notification.Viewer, token string,
) (l device.Lists, found bool, err error) {
	row := s.db.QueryRowContext(
		ctx,
		"SELECT generation, topics, pending_topics FROM FcmDevices WHERE "+owned,
		ownedArgs(v, token)...)
	l, err = scanLists(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return device.Lists{}, false, nil
	}
	return l, err == nil, mysqldb.Wrap("read device", err)
}

func (s *Store) Forget(ctx context.Context, v notification.Viewer, token string, generation int64) error {
	result, err := s.db.ExecContext(ctx, "DELETE FROM FcmDevices WHERE "+owned+" AND generation = ?",
		append(ownedArgs(v, token), generation)...)
	return oneRow("delete device", result, err)
}

func (s *Store) Drop(ctx context.Context, v notification.Viewer, token string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM FcmDevices WHERE "+owned, ownedArgs(v, token)...)
	return mysqldb.Wrap("delete device", err)
}

func (s *Store) OfLogin(ctx context.Context, v notification.Viewer) ([]device.Device, error) {
	condition, args := ofLogin(v)
	list, err := mysqldb.Collect(ctx, s.db, "SELECT token, generation, topics, pending_topics FROM FcmDevices"+
		condition+" ORDER BY id", args, func(row mysqldb.Row, d *device.Device) (err error) {
		d.Lists, err = scanLists(row.Scan, &d.Token)
		return err
	})
	return list, mysqldb.Wrap("read devices", err)
}

// ofLogin returns the condition of a login's devices.
func ofLogin(v notification.Viewer) (condition string, args []any) {
	column := "lab_user_id"
	switch v.Audience {
	case notification.OneOrganization:
		column = "org_id"
	case notification.OneDoctor:
		column = "doctor_id"
	}
	kind, id := v.Login()
	return " WHERE lab_id = ? AND " + column + " = ? AND user_type = ?", []any{v.Lab.LabID(), id, kind}
}

func (s *Store) Oldest(
	ctx context.Context, v notification.Viewer, token string, keep, limit int,
) ([]device.Seen, error) {
	condition, args := ofLogin(v)
	list, err := mysqldb.Collect(ctx, s.db, "SELECT token, last_activity FROM FcmDevices"+condition+
		" AND token <> ? ORDER BY last_activity DESC, id DESC LIMIT ? OFFSET ?", append(args, token, limit, keep),
		func(row mysqldb.Row, d *device.Seen) error {
			var last int64
			err := row.Scan(&d.Token, &last)
			d.At = time.UnixMilli(last)
			return err
		})
	return list, mysqldb.Wrap("read the oldest devices", err)
}

// Subscribed reads confirmed topics only, because the provider may not have a pending one. Concurrent triggers for the
// same addressees share the query, which reads every device of the laboratory.
func (s *Store) Subscribed(ctx context.Context, lab authn.LabScope, topics []string) (notify.Devices, error) {
	key := sameTopics{lab.LabID(), strings.Join(topics, " ")}
	return s.subscribed.Do(ctx, key, struct{}{}, func(ctx context.Context, _ []struct{}) (notify.Devices, error) {
		return s.readSubscribed(ctx, lab, topics)
	})
}

// listed is the condition of devices (alias d) whose lab user was not removed from the laboratory's list of users. Some
// installations have no such list.
const listed = "(d.lab_user_id IS NULL OR EXISTS (SELECT 1 FROM labUser u WHERE u.id = d.lab_user_id AND u.labId_id = d.lab_id)" +
	" OR NOT EXISTS (SELECT 1 FROM labUser u WHERE u.labId_id = d.lab_id))"

// readSubscribed searches for the quoted names in the text of the lists, which costs half of parsing them as JSON.
func (s *Store) readSubscribed(
	ctx context.Context, lab authn.LabScope, topics []string,
) (devices notify.Devices, err error) {
	const has = "LOCATE(?, CAST(d.topics AS BINARY)) > 0"
	args := make([]any, 0, len(topics)+1)
	for _, topic := range topics {
		args = append(args, `"`+topic+`"`)
	}
	query := "SELECT DISTINCT " + listed + strings.Repeat(", "+has, len(topics)) + " FROM FcmDevices d WHERE d.lab_id = ?"
	combinations, err := mysqldb.Collect(ctx, s.db, query, append(args, lab.LabID()),
		func(row mysqldb.Row, held *[]bool) error {
			*held = make([]bool, 1+len(topics))
			columns := make([]any, len(*held))
			for i := range columns {
				columns[i] = &(*held)[i]
			}
			return row.Scan(columns...)
		})
	for _, held := range combinations {
		var list []string
		for i, has := range held[1:] {
			if has {
				list = append(list, topics[i])
			}
		}
		if list != nil {
			devices.Topics, devices.Used = append(devices.Topics, list), devices.Used || held[0]
		}
	}
	return devices, mysqldb.Wrap("find subscribed devices", err)
}
