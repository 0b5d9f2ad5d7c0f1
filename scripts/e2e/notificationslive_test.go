package e2e

import (
	"net/http"
	"testing"
)

const livePath = notificationsPath + "live"

// wantNotification skips counts and the notifications of other tests, and returns the event of the notification.
func (s *eventStream) wantNotification(id int) event {
	s.t.Helper()
	for {
		if e := s.next(); e.name == "notification" && e.data["id"] == float64(id) {
			return e
		}
	}
}

// wantUnread skips events until the count is as expected.
func (s *eventStream) wantUnread(count int) {
	s.t.Helper()
	for {
		if e := s.next(); e.name == "unread" && e.data["unread_count"] == float64(count) {
			return
		}
	}
}

// organizationLogin seeds a login of an organization whose inbox no other test uses.
func organizationLogin(t *testing.T, name string, lab, org string) string {
	t.Helper()
	applyFixture(t, `{"sessions":[{"id":"`+name+`","session_type":"organization","lab_id":`+lab+`,"org_id":`+org+`,"username":"`+name+`","full_name":"Desk"}]}`)
	return name
}

func TestNotificationsLive(t *testing.T) {
	t.Parallel()
	desk, other := organizationLogin(t, "e2e-live-desk", "12", "4801"), organizationLogin(t, "e2e-live-other", "12", "4802")
	first, lab, stranger := followPath(t, desk, livePath, ""), followPath(t, labSession, livePath, ""), followPath(t, other, livePath, "")
	first.wantUnread(0)
	stranger.wantUnread(0)
	one := newNotification(t, 4801, 895001)
	seen := first.wantNotification(one)
	first.wantUnread(1)
	lab.wantNotification(one)
	if message, _ := seen.data["message"].(map[string]any); message["title"] != "Critical report" || seen.data["read_on"] != nil {
		t.Errorf("not the element of the list: %v", seen.data)
	}
	first.stop()
	missed := []int{newNotification(t, 4801, 895002), newNotification(t, 4801, 895003)}
	back := followPath(t, desk, livePath, seen.id)
	for _, id := range missed {
		back.wantNotification(id)
	}
	back.wantUnread(3)
	if got := call(t, desk, "POST", notificationsPath+"notification/read-all", ""); got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	back.wantUnread(0)
	own := newNotification(t, 4802, 895004)
	e := stranger.next()
	if e.name == "unread" && e.data["unread_count"] == float64(1) { // the count may precede the notification
		e = stranger.next()
	}
	if e.data["id"] != float64(own) { // no event of the first organization
		t.Errorf("another organization got %s %v", e.name, e.data)
	}
	if got := call(t, "", "GET", livePath, ""); got.status != http.StatusUnauthorized {
		t.Errorf("without a session: %d %s", got.status, got.body)
	}
}
