package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// TestADeviceFromBeforeCanBeLoggedOut: rows of earlier releases do not tell the logins of an organisation apart.
func TestADeviceFromBeforeCanBeLoggedOut(t *testing.T) {
	t.Parallel()
	s := open(t).(opened)
	if _, err := s.db.ExecContext(t.Context(), "INSERT INTO FcmDevices (token, lab_id, user_type, org_id, topics,"+
		" last_activity, created_at) VALUES ('T', 12, 'org', 45, '[\"a\"]', 1, 1)"); err != nil {
		t.Fatal(err)
	}
	ward := func(org int64) notification.Viewer {
		v, err := notification.ViewerOf(authn.Principal{
			Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: org, Username: "north",
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if _, found, err := s.Find(t.Context(), ward(46), "T"); found || err != nil {
		t.Errorf("another organisation finds it: %v", err)
	}
	if lists, found, err := s.Find(t.Context(), ward(45), "T"); !found || err != nil || len(lists.Confirmed) != 1 {
		t.Errorf("%v, %v, %v", lists, found, err)
	}
	if err := s.Forget(t.Context(), ward(45), "T", 0); err != nil {
		t.Error(err)
	}
}
