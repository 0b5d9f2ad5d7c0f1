package notify_test

import (
	"database/sql"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// TestACrashLeavesANotificationWithItsMessage aborts a trigger before each of its statements. Inbox and outbox agree,
// and repeating the trigger leaves one notification with one message.
func TestACrashLeavesANotificationWithItsMessage(t *testing.T) {
	t.Parallel()
	var f *fixture
	open := func() string {
		f = open(t)
		return f.DSN
	}
	trigger := notify.Trigger{Gateway: notify.Gateway, TypeID: 2, Context: []byte(critical)}
	run := func(db *sql.DB) error {
		_, err := f.over(f.Over(db)).Notify(t.Context(), caller, trigger)
		return err
	}
	crashes := crashdb.Each(t, open, run, func(c crashdb.Crash, _ error) {
		if inbox, events := len(f.inbox()), len(f.Events()); inbox != events {
			t.Errorf("the process %s: %d in the inbox, %d in the outbox; want as many", c, inbox, events)
		}
		if _, err := f.Notify(t.Context(), caller, trigger); err != nil {
			t.Errorf("the process %s; the trigger again: %v", c, err)
		}
		if inbox, events := len(f.inbox()), len(f.Events()); inbox != 1 || events != 1 {
			t.Errorf("the process %s; the trigger again: %d in the inbox, %d in the outbox; want 1", c, inbox, events)
		}
	})
	if len(crashes) < 5 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}
