package notification_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

func TestAReadNotificationKeepsItsFirstTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action  notification.Action
		readOn  *int64
		want    *int64
		changed bool
	}{
		"read, unread before":   {notification.Read, nil, new(int64(200)), true},
		"read again":            {notification.Read, new(int64(100)), new(int64(100)), false},
		"unread, read before":   {notification.Unread, new(int64(100)), nil, true},
		"unread, unread before": {notification.Unread, nil, nil, false},
	} {
		got, changed := c.action.Apply(c.readOn, time.Unix(200, 0))
		if diff := cmp.Diff(c.want, got); diff != "" || changed != c.changed {
			t.Errorf("%s: changed %v, want %v (-want +got): %s", name, changed, c.changed, diff)
		}
	}
}
