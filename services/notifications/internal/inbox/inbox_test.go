package inbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// fixture contains the use case with its dependencies.
type fixture struct {
	*inbox.Inbox
	*storetest.Database

	marked  map[notification.Action]int
	changed int // number of wake-ups of open pages
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Database: storetest.Open(t), marked: map[notification.Action]int{}}
	f.Inbox = f.over(f.Database, f.Database)
	return f
}

func (f *fixture) over(r inbox.Reader, w inbox.Writer) *inbox.Inbox {
	return inbox.New(inbox.Deps{Reader: r, Writer: w, Clock: f.Clock, Observer: f, Signals: f})
}

func (f *fixture) Marked(a notification.Action, n int) { f.marked[a] += n }

func (f *fixture) Changed(context.Context, authn.LabScope) { f.changed++ }

func asha(t *testing.T) notification.Viewer {
	t.Helper()
	return storetest.User(t, 12, 77)
}

// add stores a notification for organization 45 that is days days old.
func (f *fixture) add(t *testing.T, days int) {
	t.Helper()
	f.Put(asha(t).Lab, notify.New{OrgID: 45}, storetest.Start.AddDate(0, 0, -days))
}

func TestTheListIsOfThirtyDaysUnlessAWindowIsGiven(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, days := range []int{0, 1, 29, 31} {
		f.add(t, days)
	}
	for name, c := range map[string]struct {
		q    inbox.Query
		want int
	}{
		"no window":              {inbox.Query{}, 3},
		"a page of two":          {inbox.Query{Limit: "2"}, 2},
		"the second page":        {inbox.Query{Limit: "2", Page: "2"}, 1},
		"a page after the last":  {inbox.Query{Page: "9"}, 0},
		"a limit above MaxLimit": {inbox.Query{Limit: "99999999"}, 3},
		"a whole day":            {inbox.Query{From: "2026-11-19", To: "2026-11-19"}, 1},
		"exact times":            {inbox.Query{From: "2026-11-19T10:00:01Z", To: "2026-11-20T09:59:59Z"}, 0},
		"a window from October":  {inbox.Query{From: "2026-10-01"}, 4},
	} {
		list, err := f.List(t.Context(), asha(t), c.q)
		if err != nil || len(list.Notifications) != c.want {
			t.Errorf("%s: %d notifications, %v; want %d", name, len(list.Notifications), err, c.want)
		}
	}
}

func TestBadQueriesAreRefused(t *testing.T) {
	t.Parallel()
	f := open(t)
	for name, q := range map[string]inbox.Query{
		"a page in words": {Page: "one"}, "page 0": {Page: "0"}, "a page beyond the limit": {Page: "100001"},
		"a limit in words": {Limit: "1 OR 1=1"}, "limit 0": {Limit: "0"}, "a negative limit": {Limit: "-5"},
		"a date in words": {From: "yesterday"}, "the end first": {From: "2026-11-20", To: "2026-11-19"},
	} {
		if _, err := f.List(t.Context(), asha(t), q); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v, want it refused as invalid", name, err)
		}
	}
	if _, err := f.Activities(t.Context(), asha(t), "2026-13-01", ""); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("activities from month 13: %v, want it refused as invalid", err)
	}
}

func TestReadingKeepsTheFirstTimeAndLeavesAnActivity(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.add(t, 0)
	first := storetest.Start.Unix()
	for range 2 {
		got, err := f.Mark(t.Context(), asha(t), 1, "read")
		if err != nil || got.ReadOn == nil || *got.ReadOn != first || len(got.Activities) != 1 || got.Activities[0].UserName != "Asha R" {
			t.Fatalf("read: %+v, %v; want the first time and one activity of Asha R", got, err)
		}
		f.Clock.Advance(time.Minute)
	}
	list, err := f.List(t.Context(), asha(t), inbox.Query{})
	if err != nil || list.Unread != 0 || len(list.Activities[1]) != 1 {
		t.Fatalf("list: %+v, %v; want one activity and none unread", list, err)
	}
	organization := storetest.Viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45})
	if list, err = f.List(t.Context(), organization, inbox.Query{}); err != nil || list.Unread != 1 {
		t.Fatalf("list of another login: %+v, %v; want one unread", list, err)
	}
	if got, err := f.Mark(t.Context(), asha(t), 1, "unread"); err != nil || got.ReadOn != nil || len(got.Activities) != 2 {
		t.Fatalf("unread: %+v, %v; want no time and two activities", got, err)
	}
	if f.changed != 3 {
		t.Errorf("open pages were woken %d times, want 3", f.changed)
	}
}

func TestInvalidMarksChangeNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.add(t, 0)
	liya := storetest.User(t, 13, 87)
	for name, c := range map[string]struct {
		v      notification.Viewer
		id     int64
		action string
		want   error
	}{
		"another action":       {asha(t), 1, "delete", nil},
		"no action":            {asha(t), 1, "", nil},
		"no notification":      {asha(t), 0, "read", nil},
		"an unknown one":       {asha(t), 2, "read", notification.ErrNotFound},
		"another laboratory's": {liya, 1, "read", notification.ErrNotFound},
	} {
		_, err := f.Mark(t.Context(), c.v, c.id, c.action)
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if len(f.marked) != 0 || f.changed != 0 {
		t.Errorf("marked %v, pages woken %d times; want none", f.marked, f.changed)
	}
}

// recorder records the limits of the searches for unread notifications.
type recorder struct {
	inbox.Writer

	limits []int
}

func (r *recorder) MarkRead(
	ctx context.Context, v notification.Viewer, w notification.Window, last int64, limit int, now time.Time,
) (int, error) {
	r.limits = append(r.limits, limit)
	return r.Writer.MarkRead(ctx, v, w, last, limit, now)
}

// TestMarkingAllSearchesOnlyForUnreadNotifications checks that the first call searches for two notifications and the
// second one does not search.
func TestMarkingAllSearchesOnlyForUnreadNotifications(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.add(t, 1)
	f.add(t, 2)
	r := &recorder{Writer: f.Database}
	all := f.over(f.Database, r)
	for _, want := range []int{2, 0} {
		if n, err := all.MarkAll(t.Context(), asha(t), nil); err != nil || n != want {
			t.Fatalf("marked %d, %v, want %d", n, err, want)
		}
	}
	if !slices.Equal(r.limits, []int{2}) {
		t.Errorf("limits of the searches: %v, want one of 2", r.limits)
	}
}

func TestAllNotificationsAreMarkedReadInStepsAndOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	const many = 1_100 // needs three steps
	f.Exec("INSERT INTO Notifications (lab_id, org_id, notification_type_id, message, created_at)"+
		" SELECT 12, 45, 2, '{}', ? FROM "+mysqltest.Numbers(many), storetest.Start.AddDate(0, 0, -1).Unix())
	for _, want := range []int{many, 0} {
		if n, err := f.MarkAll(t.Context(), asha(t), nil); err != nil || n != want {
			t.Fatalf("marked %d, %v, want %d", n, err, want)
		}
	}
	if f.marked[notification.Read] != many || f.changed != 3 {
		t.Errorf("counted %v, pages woken %d times; want %d read and 3", f.marked, f.changed, many)
	}
	list, err := f.Activities(t.Context(), asha(t), "", "")
	if err != nil || len(list.Activities) != many || list.LimitReached {
		t.Errorf("%d activities, %v; want %d", len(list.Activities), err, many)
	}
}

// TestWhatArrivedSinceTheListWasShownStaysUnread: a critical result arrives after Asha's page loaded its list and
// before she marks everything read. It must stay unread, because she has not seen it.
func TestWhatArrivedSinceTheListWasShownStaysUnread(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.add(t, 3)
	f.add(t, 2)
	list := func() inbox.List {
		t.Helper()
		list, err := f.List(t.Context(), asha(t), inbox.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	seen := list().Notifications[0].ID
	f.add(t, 0)
	if n, err := f.MarkAll(t.Context(), asha(t), &seen); err != nil || n != 2 {
		t.Errorf("marked %d, %v, want the 2 that were shown", n, err)
	}
	if list := list(); list.Unread != 1 || list.Notifications[0].ReadOn != nil {
		t.Errorf("unread %d, the newest is %+v; want it unread", list.Unread, list.Notifications[0])
	}
	for _, wrong := range []int64{0, -1} {
		if _, err := f.MarkAll(t.Context(), asha(t), &wrong); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("up_to %d: %v, want it refused", wrong, err)
		}
	}
}
