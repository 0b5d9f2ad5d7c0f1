package withdraw_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/withdraw"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	notice := notification.Message{Title: "Critical report", Body: "Open it now."}
	for name, c := range map[string]struct {
		facts  withdraw.Facts
		reason notification.Reason
		want   withdraw.Answer
		record bool
		reword bool
	}{
		"wrong and unread": {withdraw.Facts{NotificationID: 1}, notification.Wrong, withdraw.Answer{Found: true}, true, true},
		"wrong and read": {
			withdraw.Facts{NotificationID: 1, Read: true}, notification.Wrong, withdraw.Answer{Found: true, WasRead: true}, true, false,
		},
		"called and unread": {withdraw.Facts{NotificationID: 1}, notification.Called, withdraw.Answer{Found: true}, true, false},
		"called and read": {
			withdraw.Facts{NotificationID: 1, Read: true}, notification.Called, withdraw.Answer{Found: true, WasRead: true}, true, false,
		},
		"never sent": {withdraw.Facts{}, notification.Wrong, withdraw.Answer{}, true, false},
		"repeated and read meanwhile": {
			withdraw.Facts{First: &withdraw.Answer{Found: true}, NotificationID: 1, Read: true}, notification.Wrong,
			withdraw.Answer{Found: true}, false, false,
		},
		"partly wrong and unread": {withdraw.Facts{NotificationID: 1}, notification.PartlyWrong, withdraw.Answer{Found: true}, false, false},
		"partly wrong and read": {
			withdraw.Facts{NotificationID: 1, Read: true}, notification.PartlyWrong, withdraw.Answer{Found: true, WasRead: true}, false, false,
		},
		"repeated without a notice": {withdraw.Facts{First: &withdraw.Answer{}}, notification.Wrong, withdraw.Answer{}, false, false},
	} {
		c.facts.Message = notice
		d := withdraw.Decide(c.facts, c.reason)
		if d.Answer != c.want || d.Record != c.record || (d.Reword != nil) != c.reword {
			t.Errorf("%s: %+v; want %+v, recorded %v, reworded %v", name, d, c.want, c.record, c.reword)
		}
		if d.Record && d.NotificationID != c.facts.NotificationID {
			t.Errorf("%s: recorded for notification %d, want %d", name, d.NotificationID, c.facts.NotificationID)
		}
	}
}
