package inbox_test

import (
	"database/sql"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// TestACrashLeavesEachReadingWithItsActivity aborts each request before each of its statements. Every notification that
// is read has one activity, and repeating the request completes the work.
func TestACrashLeavesEachReadingWithItsActivity(t *testing.T) {
	t.Parallel()
	v := asha(t)
	for name, request := range map[string]func(*inbox.Inbox) error{
		"mark one": func(i *inbox.Inbox) error {
			_, err := i.Mark(t.Context(), v, 1, "read")
			return err
		},
		"mark all": func(i *inbox.Inbox) error {
			_, err := i.MarkAll(t.Context(), v, nil)
			return err
		},
	} {
		var f *fixture
		open := func() string {
			f = open(t)
			f.add(t, 0)
			return f.DSN
		}
		run := func(db *sql.DB) error {
			s := f.Over(db)
			return request(f.over(s, s))
		}
		check := func(c crashdb.Crash, _ error) {
			if read, activities := f.state(t); read != activities {
				t.Errorf("%s: the process %s: %d read, %d activities; want as many", name, c, read, activities)
			}
			if err := request(f.Inbox); err != nil {
				t.Errorf("%s: the process %s; the request again: %v", name, c, err)
			}
			if read, activities := f.state(t); read != 1 || activities != 1 {
				t.Errorf("%s: the process %s; the request again: %d read, %d activities; want 1", name, c, read, activities)
			}
		}
		if crashes := crashdb.Each(t, open, run, check); len(crashes) < 6 {
			t.Errorf("%s: %d crashes, want one for each statement: %v", name, len(crashes), crashes)
		}
	}
}

// state returns how many notifications asha has read, and the number of activities.
func (f *fixture) state(t *testing.T) (read, activities int) {
	t.Helper()
	list, err := f.List(t.Context(), asha(t), inbox.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list.Notifications {
		if n.ReadOn != nil {
			read++
		}
		for _, a := range list.Activities[n.ID] {
			if a.Activity == string(notification.Read) {
				activities++
			}
		}
	}
	return read, activities
}
