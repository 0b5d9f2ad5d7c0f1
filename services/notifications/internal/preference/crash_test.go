package preference_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// TestACrashLeavesSwitchesAndTheirMessageInStep aborts each request before each of its statements. Either all switches
// are stored with their message, or none. Repeating the request stores them all. The check of the permission stores
// nothing.
func TestACrashLeavesSwitchesAndTheirMessageInStep(t *testing.T) {
	t.Parallel()
	lab := storetest.User(t, 12, 77).Lab
	both := []notification.Switch{{TypeID: 1, Disabled: true}, {TypeID: 2, Disabled: true}}
	for name, c := range map[string]struct {
		request  func(*preference.Preferences) error
		table    string
		rows     int
		messages bool
	}{
		"a login's": {func(p *preference.Preferences) error {
			_, err := p.Set(t.Context(), asha, 77, `[{"id":1,"is_disabled":1},{"id":2,"is_disabled":1}]`)
			return err
		}, "UserNotificationPreferences", 2, true},
		"a laboratory's": {func(p *preference.Preferences) error {
			if err := p.MaySwitch(t.Context(), user(12, 79)); err != nil {
				return err
			}
			return p.SetKinds(t.Context(), lab, both, 79)
		}, "LabNotificationTypes", 2, false},
		"the permission to switch": {func(p *preference.Preferences) error {
			return p.MaySwitch(t.Context(), user(12, 79))
		}, "LabNotificationTypes", 0, false},
	} {
		var f *fixture
		start := func() string {
			f = open(t)
			return f.store.DSN
		}
		run := func(db *sql.DB) error { return c.request(f.over(f.store.Over(db))) }
		check := func(when string, stored int) {
			t.Helper()
			var rows int
			if err := f.store.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+c.table).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if rows != 0 && rows != c.rows || stored > 0 && rows != c.rows {
				t.Errorf("%s, %s: %d switches, want none or %d", name, when, rows, c.rows)
			}
			if sent := len(f.store.Events()) > 0; sent != (c.messages && rows > 0) {
				t.Errorf("%s, %s: %d switches, a message %v; want them in step", name, when, rows, sent)
			}
		}
		crashes := crashdb.Each(t, start, run, func(at crashdb.Crash, _ error) {
			check(fmt.Sprintf("the process %s", at), 0)
			if err := c.request(f.Preferences); err != nil {
				t.Errorf("%s, the process %s; the request again: %v", name, at, err)
			}
			check(fmt.Sprintf("the process %s; the request again", at), c.rows)
		})
		if len(crashes) < 1+c.rows {
			t.Errorf("%s: %d crashes, want one for each statement: %v", name, len(crashes), crashes)
		}
	}
}
