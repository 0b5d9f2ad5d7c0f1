package mysql_test

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// TestACountReadsOnlyWhatIsNotCountedYet uses a login that has read everything. The first count reads the notifications
// of a month, the next ones only new notifications. A notification that is marked unread counts at once.
func TestACountReadsOnlyWhatIsNotCountedYet(t *testing.T) {
	t.Parallel()
	many := 3_000
	if os.Getenv("LAB_LONG_TESTS") != "" {
		many = 300_000
	}
	s := storetest.Open(t)
	now := start.Unix()
	s.Exec("INSERT INTO Notifications (lab_id, org_id, notification_type_id, message, context, created_at)"+
		" SELECT 12, 45, 1, '{}', '{}', ? - seq * 2500000 DIV ? FROM "+mysqltest.Numbers(many), now-120, many)
	s.Exec("INSERT INTO NotificationReadState (notification_id, user_type, user_id, read_on)" +
		" SELECT id, 'lab_user', 77, created_at FROM Notifications")
	s.Exec("ANALYZE TABLE Notifications, NotificationReadState")
	v := user(t, 12, 77)
	w, err := notification.ParseWindow("", "", time.UTC, start)
	if err != nil {
		t.Fatal(err)
	}
	unread := func(want int64) (rows int) {
		t.Helper()
		rows = mysqltest.RowsRead(t, s.DB, func() {
			if n, err := s.Unread(t.Context(), v, w, 1000); err != nil || n != want {
				t.Errorf("unread %d, %v, want %d", n, err, want)
			}
		})
		t.Logf("%d unread of %d: %d rows read", want, many, rows)
		return rows
	}
	unread(0)
	if rows := unread(0); rows > many/10 {
		t.Errorf("%d rows read for a login that has read everything, want at most %d", rows, many/10)
	}
	old := int64(many / 2)
	if _, err := s.Mark(t.Context(), v, old, notification.Unread, start); err != nil {
		t.Fatal(err)
	}
	unread(1)
	if rows := unread(1); rows > many/10 {
		t.Errorf("%d rows read with one unread, want at most %d", rows, many/10)
	}
	if _, err := s.Mark(t.Context(), v, old, notification.Read, start); err != nil {
		t.Fatal(err)
	}
	unread(0)
}

// TestACountStopsAtItsLimit uses thousands of read notifications, and more unread ones than the limit. The read ones
// are read once, also for a login of an organization, and reading some of the new ones changes the count at once.
func TestACountStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	const many, limit = 3_000, 100
	s := storetest.Open(t)
	now := start.Unix()
	v := viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45, Username: "ward"})
	kind, login := v.Login()
	s.Exec("INSERT INTO Notifications (lab_id, org_id, notification_type_id, message, created_at)"+
		" SELECT 12, 45, 1, '{}', ? - seq * 100 FROM "+mysqltest.Numbers(many), now)
	s.Exec("INSERT INTO NotificationReadState (notification_id, user_type, user_id, read_on)"+
		" SELECT id, ?, ?, created_at FROM Notifications WHERE created_at < ?", kind, login, now-20_000)
	s.Exec("ANALYZE TABLE Notifications, NotificationReadState")
	w, err := notification.ParseWindow("", "", time.UTC, start)
	if err != nil {
		t.Fatal(err)
	}
	unread := func(want int64) (rows int) {
		t.Helper()
		return mysqltest.RowsRead(t, s.DB, func() {
			if n, err := s.Unread(t.Context(), v, w, limit); err != nil || n != want {
				t.Errorf("unread %d, %v, want %d", n, err, want)
			}
		})
	}
	first, second := unread(limit), unread(limit)
	t.Logf("%d rows read, then %d", first, second)
	if second > many/5 {
		t.Errorf("%d rows read by the second count, want at most %d", second, many/5)
	}
	for left := 200; left > 0; left -= 60 {
		if _, err := s.MarkRead(t.Context(), v, w, math.MaxInt64, 60, start); err != nil {
			t.Fatal(err)
		}
		if rows := unread(int64(min(limit, max(0, left-60)))); rows > many/5 {
			t.Errorf("%d rows read with %d unread, want at most %d", rows, left-60, many/5)
		}
	}
}

// TestAListReadsNoMoreOfManyReadersThanItShows uses 100 users who read each of the listed notifications in the same
// second, in a laboratory with many other notifications. The list must read only the rows that it shows.
func TestAListReadsNoMoreOfManyReadersThanItShows(t *testing.T) {
	t.Parallel()
	const many, people, shown, others = 1_100, 100, 5, 30_000
	s := storetest.Open(t)
	for _, statement := range []string{
		"INSERT INTO Notifications (lab_id, notification_type_id, message, created_at) SELECT 12, 1, '{}', 1000 FROM " +
			mysqltest.Numbers(many),
		"INSERT INTO NotificationActivity (notification_id, lab_id, user_type, user_id, activity, activity_at)" +
			" SELECT n.id, 12, 'lab_user', seq, 'read', 2000 FROM Notifications n, " + mysqltest.Numbers(people) + " ORDER BY n.id, seq",
		"INSERT INTO Notifications (lab_id, notification_type_id, message, created_at) SELECT 12, 1, '{}', 1000 FROM " +
			mysqltest.Numbers(others),
		"ANALYZE TABLE Notifications, NotificationActivity",
	} {
		s.Exec(statement)
	}
	v := user(t, 12, 77)
	ids := make([]int64, many)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	rows := mysqltest.RowsRead(t, s.DB, func() {
		found, err := s.ActivitiesOf(t.Context(), v, ids, shown)
		if err != nil || len(found) != many || len(found[many]) != shown || found[many][shown-1].UserID != people {
			t.Errorf("%d notifications, %v, %v", len(found), found[many], err)
		}
	})
	t.Logf("%d rows read", rows)
	limit := many * (5*shown + 5)
	if !mysqltest.IsMariaDB(t, s.DB) { // MySQL joins by equal columns only, so it reads every reader
		limit = many * (2*people + 5*shown)
	}
	if rows > limit {
		t.Errorf("%d rows read for %d activities, want at most %d", rows, many*shown, limit)
	}
}
