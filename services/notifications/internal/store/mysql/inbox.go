package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/labtime"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

func (s *Store) Zone(ctx context.Context, lab authn.LabScope) (*time.Location, error) {
	zone, err := labtime.ZoneOf(ctx, s.db, lab)
	return zone, mysqldb.Wrap("read time zone", err)
}

// visible returns the condition of notifications (alias n) that a viewer may see, with its arguments.
func visible(v notification.Viewer) (condition string, args []any) {
	lab := v.Lab.LabID()
	switch v.Audience {
	case notification.WholeLab:
		return "n.lab_id = ?", []any{lab}
	case notification.OneOrganization:
		return "n.lab_id = ? AND n.org_id = ?", []any{lab, v.ID}
	case notification.OneDoctor:
		return "n.lab_id = ? AND n.doctor_id = ?", []any{lab, v.ID}
	default:
		return "n.lab_id = ? AND FALSE", []any{lab}
	}
}

const readStateJoin = " LEFT JOIN NotificationReadState r ON r.notification_id = n.id AND r.user_type = ? AND r.user_id = ?"

// readerArgs returns the arguments of readStateJoin.
func readerArgs(v notification.Viewer) []any {
	kind, id := v.Login()
	return []any{kind, id}
}

// List finds the page through the index only, and reads only the rows of the page.
func (s *Store) List(
	ctx context.Context, v notification.Viewer, w notification.Window, p inbox.Page,
) ([]notification.Notification, error) {
	condition, args := visible(v)
	query := "SELECT n.id, n.notification_type_id, n.message, n.created_at, r.read_on FROM" +
		" (SELECT n.id FROM Notifications n WHERE " + condition + " AND n.created_at BETWEEN ? AND ?" +
		" ORDER BY n.created_at DESC, n.id DESC LIMIT ? OFFSET ?) page JOIN Notifications n ON n.id = page.id" + readStateJoin +
		" ORDER BY n.created_at DESC, n.id DESC"
	args = append(append(args, w.From, w.To, p.Limit, p.Offset), readerArgs(v)...)
	return s.notifications(ctx, v, query, args)
}

func (s *Store) notifications(
	ctx context.Context, v notification.Viewer, query string, args []any,
) ([]notification.Notification, error) {
	list, err := mysqldb.Collect(ctx, s.db, query, args, func(row mysqldb.Row, n *notification.Notification) error {
		var document []byte
		err := row.Scan(&n.ID, &n.TypeID, &document, &n.CreatedAt, &n.ReadOn)
		n.Message = messageOf(document)
		return err
	})
	if err != nil {
		return nil, mysqldb.Wrap("list notifications", err)
	}
	messages := make([]*notification.Message, len(list))
	for i := range list {
		messages[i] = &list[i].Message
	}
	return list, s.withBills(ctx, v.Lab, messages)
}

const activityColumns = "SELECT a.id, a.notification_id, a.activity, a.user_id, a.user_name, a.username, a.activity_at FROM NotificationActivity a"

func (s *Store) activities(ctx context.Context, query string, args []any, each func(notification.Activity)) error {
	return mysqldb.Wrap("list activities", mysqldb.Each(ctx, s.db, query, args, func(rows *sql.Rows) error {
		var a notification.Activity
		if err := rows.Scan(&a.ID, &a.NotificationID, &a.Activity, &a.UserID, &a.UserName, &a.Username, &a.At); err != nil {
			return err
		}
		each(a)
		return nil
	}))
}

// idsPerStatement is the maximum number of ids in one statement. MariaDB converts a list of 1,000 values or more to a
// table (in_predicate_conversion_threshold) and looks up every notification of the laboratory in it.
const idsPerStatement = 500

// shown returns the condition of activities that a viewer may see, with its arguments. Lab users see all activities.
// Other logins see those of their own organization or person, because activities name the staff of the laboratory.
func shown(v notification.Viewer, activity string) (condition string, args []any) {
	if v.Audience == notification.WholeLab {
		return "", nil
	}
	return " AND " + activity + ".user_type = ? AND " + activity + ".user_id = ?", []any{v.Type, v.ID}
}

const (
	// oldestShown selects the oldest activity to show of a notification (alias n).
	oldestShown = " FROM NotificationActivity o WHERE o.notification_id = n.id%[1]s" +
		" ORDER BY o.activity_at DESC, o.id DESC LIMIT 1 OFFSET ?)"
	// newestActivities reads the newest activities of notifications through the index only, so that fifty readers of a
	// notification cost no more than the few that are shown. (MySQL reads and drops the others.) It first finds the oldest
	// activity to show, with a LIMIT so that this happens once per notification, then the activities that are not older.
	newestActivities = activityColumns + " JOIN (SELECT n.id, (SELECT o.activity_at" + oldestShown + " AS at," +
		" (SELECT o.id" + oldestShown + " AS oldest FROM Notifications n WHERE n.lab_id = ? AND n.id IN (%[2]s) LIMIT ?) page" +
		" ON page.id = a.notification_id AND a.activity_at >= IFNULL(page.at, 0)" +
		" AND NOT (a.activity_at = IFNULL(page.at, 0) AND a.id < IFNULL(page.oldest, 0)) WHERE a.lab_id = ?"
)

func (s *Store) ActivitiesOf(
	ctx context.Context, v notification.Viewer, ids []int64, limit int,
) (map[int64][]notification.Activity, error) {
	found := map[int64][]notification.Activity{}
	inner, own := shown(v, "o")
	outer, _ := shown(v, "a")
	for some := range slices.Chunk(ids, idsPerStatement) {
		args := slices.Concat(own, []any{limit - 1}, own, []any{limit - 1, v.Lab.LabID()})
		for _, id := range some {
			args = append(args, id)
		}
		args = append(append(args, len(some), v.Lab.LabID()), own...)
		query := fmt.Sprintf(newestActivities, inner, "?"+strings.Repeat(",?", len(some)-1)) + outer
		err := s.activities(ctx, query, args, func(a notification.Activity) {
			found[a.NotificationID] = append(found[a.NotificationID], a)
		})
		if err != nil {
			return nil, err
		}
	}
	for _, list := range found { // sorted here, because the server would sort wide rows in a temporary table
		slices.SortFunc(list, func(a, b notification.Activity) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
		})
	}
	return found, nil
}

func (s *Store) Activities(
	ctx context.Context,
	v notification.Viewer,
	w notification.Window,
	limit int,
) ([]notification.Activity, error) {
	condition, args := visible(v)
	own, ownArgs := shown(v, "a")
	args = append(append(append(args, v.Lab.LabID(), w.From, w.To), ownArgs...), limit)
	var list []notification.Activity
	err := s.activities(ctx, activityColumns+" JOIN Notifications n ON n.id = a.notification_id WHERE "+condition+
		" AND a.lab_id = ? AND a.activity_at BETWEEN ? AND ?"+own+" ORDER BY a.activity_at DESC, a.id DESC LIMIT ?", args,
		func(a notification.Activity) { list = append(list, a) })
	return list, err
}

// marking locks a notification while it is being marked, so that a withdrawal waits until all readers are known.
const marking = " LOCK IN SHARE MODE"

// Mark locks the row of the read state, so that concurrent actions of one login are executed one after the other.
func (s *Store) Mark(
	ctx context.Context, v notification.Viewer, id int64, a notification.Action, now time.Time,
) (readOn *int64, err error) {
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		condition, args := visible(v)
		var found int64
		err := tx.QueryRowContext(ctx,
			"SELECT n.id FROM Notifications n WHERE "+condition+" AND n.id = ?"+marking, append(args, id)...).
			Scan(&found)
		if errors.Is(err, sql.ErrNoRows) {
			return notification.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("find notification: %w", err)
		}
		readOn, err = mark(ctx, tx, v, id, a, now)
		return err
	})
	return readOn, mysqldb.Wrap("mark notification", err)
}

func mark(
	ctx context.Context, tx *sql.Tx, v notification.Viewer, id int64, a notification.Action, now time.Time,
) (*int64, error) {
	kind, login := v.Login()
	_, err := tx.ExecContext(ctx, "INSERT INTO NotificationReadState (notification_id, user_type, user_id)"+
		" VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE user_id = VALUES(user_id)", id, kind, login)
	if err != nil {
		return nil, err
	}
	const state = " WHERE notification_id = ? AND user_type = ? AND user_id = ?"
	var before *int64
	err = tx.QueryRowContext(ctx, "SELECT read_on FROM NotificationReadState"+state+" FOR UPDATE", id, kind, login).
		Scan(&before)
	if err != nil {
		return nil, err
	}
	after, changed := a.Apply(before, now)
	if !changed {
		return after, nil
	}
	if after == nil {
		if err := resetCounted(ctx, tx, v); err != nil {
			return nil, err
		}
	}
	_, err = tx.ExecContext(ctx, "UPDATE NotificationReadState SET read_on = ?"+state, after, id, kind, login)
	if err != nil {
		return nil, err
	}
	return after, noteActivity(ctx, tx, v, []int64{id}, string(a), now)
}

func noteActivity(
	ctx context.Context,
	tx *sql.Tx,
	v notification.Viewer,
	ids []int64,
	activity string,
	now time.Time,
) error {
	var args []any
	for _, id := range ids {
		args = append(args, id, v.Lab.LabID(), v.Type, v.ID, v.Name, v.Username, activity, now.Unix())
	}
	_, err := tx.ExecContext(
		ctx,
		"INSERT INTO NotificationActivity (notification_id, lab_id, user_type, user_id, user_name, username, activity,"+
			" activity_at) VALUES (?,?,?,?,?,?,?,?)"+strings.Repeat(",(?,?,?,?,?,?,?,?)", len(ids)-1),
		args...)
	return err
}

func (s *Store) MarkRead(
	ctx context.Context, v notification.Viewer, w notification.Window, last int64, limit int, now time.Time,
) (marked int, err error) {
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		ids, err := unread(ctx, tx, v, w, last, limit)
		marked = len(ids)
		if err != nil || marked == 0 {
			return err
		}
		if err := lockMarked(ctx, tx, v.Lab, ids); err != nil {
			return err
		}
		var args []any
		kind, login := v.Login()
		for _, id := range ids {
			args = append(args, id, kind, login, now.Unix())
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO NotificationReadState (notification_id, user_type, user_id, read_on)"+
			" VALUES (?,?,?,?)"+strings.Repeat(",(?,?,?,?)", marked-1)+
			" ON DUPLICATE KEY UPDATE read_on = IFNULL(read_on, VALUES(read_on))", args...)
		if err != nil {
			return err
		}
		return noteActivity(ctx, tx, v, ids, string(notification.Read), now)
	})
	return marked, mysqldb.Wrap("mark all read", err)
}

func lockMarked(ctx context.Context, tx *sql.Tx, lab authn.LabScope, ids []int64) error {
	args := []any{lab.LabID()}
	for _, id := range ids {
		args = append(args, id)
	}
	return mysqldb.Each(ctx, tx, "SELECT id FROM Notifications WHERE lab_id = ? AND id IN (?"+
		strings.Repeat(",?", len(ids)-1)+") ORDER BY id"+marking, args, func(*sql.Rows) error { return nil })
}

func unread(
	ctx context.Context, tx *sql.Tx, v notification.Viewer, w notification.Window, last int64, limit int,
) ([]int64, error) {
	condition, args := visible(v)
	args = append(readerArgs(v), args...)
	return mysqldb.Collect(ctx, tx, "SELECT n.id FROM Notifications n"+readStateJoin+" WHERE "+condition+
		" AND n.created_at BETWEEN ? AND ? AND n.id <= ? AND r.read_on IS NULL ORDER BY n.created_at DESC, n.id DESC LIMIT ?",
		append(args, w.From, w.To, last, limit), func(row mysqldb.Row, id *int64) error { return row.Scan(id) })
}
