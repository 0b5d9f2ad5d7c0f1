package live_test

import (
	"context"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// ending is a reader that ends its stream at the first count of unread notifications.
type ending struct {
	*fixture

	end context.CancelFunc
}

func (e ending) Unread(n int64) error {
	e.end()
	return e.fixture.Unread(n)
}

// TestAStreamReadsTheInboxOfItsLogin uses a real inbox. The stream of an organization sends the organization's
// notifications after the given id, oldest first, and its unread count.
func TestAStreamReadsTheInboxOfItsLogin(t *testing.T) {
	t.Parallel()
	db, lab := storetest.Open(t), storetest.User(t, 12, 77).Lab
	organization := storetest.Viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45})
	for i, org := range []int64{45, 46, 45, 45} {
		db.Put(lab, notify.New{OrgID: org}, storetest.Start.AddDate(0, 0, -1).Add(time.Duration(i)*time.Hour))
	}
	if _, err := db.Mark(t.Context(), organization, 3, notification.Read, storetest.Start); err != nil {
		t.Fatal(err)
	}
	for last, want := range map[string]string{"1": "at 1, 3, 4, unread 2", "4": "at 4, unread 2", "": "at 4, unread 2"} {
		f := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		err := live.New(f.deps(db, db.Clock)).Watch(ctx, organization, last, ending{f, cancel})
		if ctx.Err() == nil || err == nil {
			t.Errorf("after %q the stream ended with %v, want the end of its context", last, err)
		}
		f.wantNow(want)
	}
}
