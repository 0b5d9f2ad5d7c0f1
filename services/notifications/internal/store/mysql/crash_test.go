package mysql_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// TestACrashKeepsTheCount aborts a count before each statement; a count is the only read that stores something. The
// next count must be right, including a notification that arrived in between.
func TestACrashKeepsTheCount(t *testing.T) {
	t.Parallel()
	var s *storetest.Database
	v := user(t, 12, 77)
	month := notification.Window{From: start.AddDate(0, 0, -30).Unix(), To: start.Unix()}
	open := func() string {
		s = storetest.Open(t)
		for i := range 3 {
			s.Put(v.Lab, notify.New{}, start.Add(-time.Duration(1+i)*time.Hour))
		}
		_, err := s.Mark(t.Context(), v, 1, notification.Read, start)
		must(t, err)
		return s.DSN
	}
	run := func(db *sql.DB) error {
		n, err := s.Over(db).Unread(t.Context(), v, month, 100)
		if err == nil && n != 2 {
			t.Errorf("the count is %d, want 2", n)
		}
		return err
	}
	crashes := crashdb.Each(t, open, run, func(c crashdb.Crash, _ error) {
		s.Put(v.Lab, notify.New{}, start.Add(-time.Second))
		if n, err := s.Unread(t.Context(), v, month, 100); err != nil || n != 3 {
			t.Errorf("the process %s: the next count is %d, %v; want 3", c, n, err)
		}
	})
	if len(crashes) < 3 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}
