package inbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
)

// bench is the use case with all that it calls.
type bench struct {
	*inbox.Inbox
	t       *testing.T
	store   *memory.Store
	now     time.Time
	marked  map[notification.Action]int
	changed int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, store: memory.New(), now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), marked: map[notification.Action]int{}}
	b.Inbox = inbox.New(b.store, b, b, b)
	return b
}

func (b *bench) Now() time.Time { return b.now }

func (b *bench) Marked(a notification.Action, n int) { b.marked[a] += n }

func (b *bench) Changed(context.Context, authn.LabScope) { b.changed++ }

func viewer(t *testing.T, p authn.Principal) notification.Viewer {
	t.Helper()
	p.Kind = authn.Session
	v, err := notification.ViewerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func asha(t *testing.T) notification.Viewer {
	t.Helper()
	return viewer(t, authn.Principal{SessionType: authn.LabUser, LabID: 12, LabUserID: 77, FullName: "Asha R", Username: "asha"})
}

// add stores a notification for organization 45 that is days old.
func (b *bench) add(days int) {
	b.t.Helper()
	_, _, err := b.store.Add(b.t.Context(), asha(b.t).Lab, notify.New{TypeID: 2, OrgID: 45},
		func(int64) (outbox.Event, error) { return outbox.Event{}, nil }, b.now.AddDate(0, 0, -days))
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestTheListIsOfThirtyDaysUnlessAWindowIsGiven(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, days := range []int{0, 1, 29, 31} {
		b.add(days)
	}
	for name, c := range map[string]struct {
		q    inbox.Query
		want int
	}{
		"nothing said":                    {inbox.Query{}, 3},
		"two of them":                     {inbox.Query{Limit: "2"}, 2},
		"the second page":                 {inbox.Query{Limit: "2", Page: "2"}, 1},
		"a page after the last":           {inbox.Query{Page: "9"}, 0},
		"a limit above the most":          {inbox.Query{Limit: "99999999"}, 3},
		"a day, which is the whole day":   {inbox.Query{From: "2026-11-19", To: "2026-11-19"}, 1},
		"moments, which are exact":        {inbox.Query{From: "2026-11-19T10:00:01Z", To: "2026-11-20T09:59:59Z"}, 0},
		"a window that reaches back more": {inbox.Query{From: "2026-10-01"}, 4},
	} {
		list, err := b.List(t.Context(), asha(t), c.q)
		if err != nil || len(list.Notifications) != c.want {
			t.Errorf("%s: %d, %v, want %d", name, len(list.Notifications), err, c.want)
		}
	}
}

func TestBadQueriesAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, q := range map[string]inbox.Query{
		"a page that is no number": {Page: "one"}, "page 0": {Page: "0"}, "a page far away": {Page: "100001"},
		"a limit that is no number": {Limit: "1 OR 1=1"}, "limit 0": {Limit: "0"}, "a limit below": {Limit: "-5"},
		"a date that is none": {From: "yesterday"}, "the end first": {From: "2026-11-20", To: "2026-11-19"},
	} {
		if _, err := b.List(t.Context(), asha(t), q); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.Activities(t.Context(), asha(t), "2026-13-01", ""); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("activities: %v", err)
	}
}

func TestReadingLeavesTheFirstTimeAndAnActivity(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(0)
	first := b.now.Unix()
	for range 2 {
		got, err := b.Mark(t.Context(), asha(t), 1, "read")
		if err != nil || got.ReadOn == nil || *got.ReadOn != first || len(got.Activities) != 1 || got.Activities[0].UserName != "Asha R" {
			t.Fatalf("%+v, %v", got, err)
		}
		b.now = b.now.Add(time.Minute)
	}
	list, err := b.List(t.Context(), asha(t), inbox.Query{})
	if err != nil || list.Unread != 0 || len(list.Activities[1]) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	organization := viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45})
	if list, err = b.List(t.Context(), organization, inbox.Query{}); err != nil || list.Unread != 1 {
		t.Fatalf("another login: %+v, %v", list, err)
	}
	if got, err := b.Mark(t.Context(), asha(t), 1, "unread"); err != nil || got.ReadOn != nil || len(got.Activities) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if b.changed != 3 {
		t.Errorf("open pages were woken %d times", b.changed)
	}
}

func TestWhatCannotBeMarked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(0)
	liya := viewer(t, authn.Principal{SessionType: authn.LabUser, LabID: 13, LabUserID: 87})
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
		_, err := b.Mark(t.Context(), c.v, c.id, c.action)
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(b.marked) != 0 || b.changed != 0 {
		t.Errorf("marked %v, pages woken %d times", b.marked, b.changed)
	}
}

// looked counts the looks through the inbox for what is to be marked, and how much each may find at most.
type looked struct {
	inbox.Store

	limits []int
}

func (s *looked) MarkRead(ctx context.Context, v notification.Viewer, w notification.Window, limit int, now time.Time) (int, error) {
	s.limits = append(s.limits, limit)
	return s.Store.MarkRead(ctx, v, w, limit, now)
}

// TestWhoHasReadAlmostAllIsNotLookedThrough: the inbox is searched for the two that are unread, and for none the second
// time.
func TestWhoHasReadAlmostAllIsNotLookedThrough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add(1)
	b.add(2)
	s := &looked{Store: b.store}
	all := inbox.New(s, b, b, b)
	for _, want := range []int{2, 0} {
		if n, err := all.MarkAll(t.Context(), asha(t)); err != nil || n != want {
			t.Fatalf("%d, %v, want %d", n, err, want)
		}
	}
	if len(s.limits) != 1 || s.limits[0] != 2 {
		t.Errorf("looked for %v", s.limits)
	}
}

func TestAllIsMarkedReadInStepsAndOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const many = 1_100 // three steps
	for range many {
		b.add(1)
	}
	for _, want := range []int{many, 0} {
		if n, err := b.MarkAll(t.Context(), asha(t)); err != nil || n != want {
			t.Fatalf("%d, %v, want %d", n, err, want)
		}
	}
	if b.marked[notification.Read] != many || b.changed != 3 {
		t.Errorf("%v, pages woken %d times", b.marked, b.changed)
	}
	list, err := b.Activities(t.Context(), asha(t), "", "")
	if err != nil || len(list.Activities) != many || list.LimitReached {
		t.Errorf("%d activities, %v", len(list.Activities), err)
	}
}
