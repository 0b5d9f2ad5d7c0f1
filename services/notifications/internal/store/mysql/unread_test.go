package mysql_test

import (
	"os"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// TestWhoHasReadEverythingIsNotCountedThroughIt: the first count reads a month's notifications, the next ones what came
// since, and what is marked unread again counts at once.
func TestWhoHasReadEverythingIsNotCountedThroughIt(t *testing.T) {
	t.Parallel()
	many := 3_000
	if os.Getenv("LAB_LONG_TESTS") != "" {
		many = 300_000
	}
	s := open(t).(opened)
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := s.db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Unix()
	exec("INSERT INTO Notifications (lab_id, org_id, notification_type_id, message, context, created_at)"+
		" SELECT 12, 45, 1, '{}', '{}', ? - seq * 2500000 DIV ? FROM "+mysqltest.Numbers(many), now-120, many)
	exec("INSERT INTO NotificationReadState (notification_id, user_type, user_id, read_on) SELECT id, 'lab_user', 77, created_at FROM Notifications")
	exec("ANALYZE TABLE Notifications, NotificationReadState")
	v, err := notification.ViewerOf(authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77})
	if err != nil {
		t.Fatal(err)
	}
	w, err := notification.ParseWindow("", "", time.UTC, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	unread := func(want int64) (rows int) {
		t.Helper()
		begin := time.Now()
		rows = mysqltest.RowsRead(t, s.db, func() {
			if n, err := s.Unread(t.Context(), v, w, 1000); err != nil || n != want {
				t.Errorf("unread %d, %v, want %d", n, err, want)
			}
		})
		t.Logf("%d unread of %d: %d rows read, %v", want, many, rows, time.Since(begin))
		return rows
	}
	unread(0)
	if rows := unread(0); rows > many/10 {
		t.Errorf("%d rows read of who is up to date", rows)
	}
	old := int64(many / 2)
	if _, err := s.Mark(t.Context(), v, old, notification.Unread, time.Now()); err != nil {
		t.Fatal(err)
	}
	unread(1)
	if rows := unread(1); rows > many/10 {
		t.Errorf("%d rows read with one unread", rows)
	}
	if _, err := s.Mark(t.Context(), v, old, notification.Read, time.Now()); err != nil {
		t.Fatal(err)
	}
	unread(0)
}

// TestWhoHasReadMuchAndHasMuchUnread: thousands are read, and more came than are counted. What was read is looked through
// once, also by an organisation's login, and reading some of the new ones counts at once.
func TestWhoHasReadMuchAndHasMuchUnread(t *testing.T) {
	t.Parallel()
	const many, most = 3_000, 100
	s := open(t).(opened)
	now := time.Now().Unix()
	v, err := notification.ViewerOf(authn.Principal{
		Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 45, Username: "ward",
	})
	if err != nil {
		t.Fatal(err)
	}
	kind, login := v.Login()
	_, err = s.db.ExecContext(t.Context(), "INSERT INTO Notifications (lab_id, org_id, notification_type_id, message, created_at)"+
		" SELECT 12, 45, 1, '{}', ? - seq * 100 FROM "+mysqltest.Numbers(many), now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.db.ExecContext(t.Context(), "INSERT INTO NotificationReadState (notification_id, user_type, user_id, read_on) SELECT id, ?, ?, created_at FROM Notifications"+
		" WHERE created_at < ?", kind, login, now-20_000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), "ANALYZE TABLE Notifications, NotificationReadState"); err != nil {
		t.Fatal(err)
	}
	w, err := notification.ParseWindow("", "", time.UTC, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	unread := func(want int64) (rows int) {
		t.Helper()
		return mysqltest.RowsRead(t, s.db, func() {
			if n, err := s.Unread(t.Context(), v, w, most); err != nil || n != want {
				t.Errorf("unread %d, %v, want %d", n, err, want)
			}
		})
	}
	first, second := unread(most), unread(most)
	t.Logf("%d rows read, then %d", first, second)
	if second > many/5 {
		t.Errorf("%d rows read of who has read much", second)
	}
	for left := 200; left > 0; left -= 60 {
		if _, err := s.MarkRead(t.Context(), v, w, 60, time.Now()); err != nil {
			t.Fatal(err)
		}
		if rows := unread(int64(min(most, max(0, left-60)))); rows > many/5 {
			t.Errorf("%d rows read with %d unread", rows, left-60)
		}
	}
}

// TestAListReadsNoMoreOfManyReadersThanItShows: 100 people left an activity of each of these notifications in the
// same second, and the laboratory has many others.
func TestAListReadsNoMoreOfManyReadersThanItShows(t *testing.T) {
	t.Parallel()
	const many, people, shown, others = 1_100, 100, 5, 30_000
	s := open(t).(opened)
	for _, statement := range []string{
		"INSERT INTO Notifications (lab_id, notification_type_id, message, created_at) SELECT 12, 1, '{}', 1000 FROM " +
			mysqltest.Numbers(many),
		"INSERT INTO NotificationActivity (notification_id, lab_id, user_type, user_id, activity, activity_at)" +
			" SELECT n.id, 12, 'lab_user', seq, 'read', 2000 FROM Notifications n, " + mysqltest.Numbers(people) + " ORDER BY n.id, seq",
		"INSERT INTO Notifications (lab_id, notification_type_id, message, created_at) SELECT 12, 1, '{}', 1000 FROM " +
			mysqltest.Numbers(others),
		"ANALYZE TABLE Notifications, NotificationActivity",
	} {
		if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	v, err := notification.ViewerOf(authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, many)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	rows := mysqltest.RowsRead(t, s.db, func() {
		found, err := s.ActivitiesOf(t.Context(), v.Lab, ids, shown)
		if err != nil || len(found) != many || len(found[many]) != shown || found[many][shown-1].UserID != people {
			t.Errorf("%d notifications, %v, %v", len(found), found[many], err)
		}
	})
	t.Logf("%d rows read", rows)
	most := many * (5*shown + 5)
	if !mysqltest.IsMariaDB(t, s.db) { // MySQL looks up a row of a join by equal columns alone: it reads each reader of these
		most = many * (2*people + 5*shown)
	}
	if rows > most {
		t.Errorf("%d rows read for %d activities", rows, many*shown)
	}
}
