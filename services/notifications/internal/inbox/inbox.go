package inbox

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/coalesce"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// Limits of the documented lists.
const (
	DefaultLimit  = 1_000
	MaxLimit      = 10_000
	MaxActivities = 10_000
	// MaxUnread is the maximum count of unread notifications. Counting further would not tell a user more.
	MaxUnread = 1_000
	maxPage   = 100_000
	// markStep is the maximum number of notifications marked in one transaction, MaxMarked in one request.
	markStep  = 500
	MaxMarked = 10_000
)

// Inbox lists and marks notifications. Its methods may be called from several goroutines.
type Inbox struct {
	d Deps
	// lists coalesces reads: pages of one login that open or wake at the same time share one.
	lists coalesce.Reads[sameList, struct{}, List]
}

// sameList identifies a list of a login.
type sameList struct {
	viewer notification.Viewer
	query  Query
}

// Observer counts marked notifications.
type Observer interface {
	Marked(a notification.Action, n int)
}

// Signals wakes the open pages of a laboratory.
type Signals interface {
	Changed(ctx context.Context, lab authn.LabScope)
}

// Deps are the dependencies of the use case.
type Deps struct {
	Reader   Reader
	Writer   Writer
	Clock    clock.Clock
	Observer Observer
	Signals  Signals
}

// New returns a use case with the dependencies d.
func New(d Deps) *Inbox { return &Inbox{d: d} }

// Query holds the parameters of a list as they were sent. "" means absent.
type Query struct{ From, To, Page, Limit string }

// List is a page of the inbox.
type List struct {
	Notifications []notification.Notification
	Activities    map[int64][]notification.Activity
	Unread        int64
}

// List returns a page of the inbox. Callers share the result and must not change it.
func (i *Inbox) List(ctx context.Context, v notification.Viewer, q Query) (List, error) {
	return i.lists.Do(ctx, sameList{v, q}, struct{}{}, func(ctx context.Context, _ []struct{}) (List, error) {
		return i.list(ctx, v, q)
	})
}

func (i *Inbox) list(ctx context.Context, v notification.Viewer, q Query) (List, error) {
	page, err := q.page()
	if err != nil {
		return List{}, err
	}
	window, err := i.window(ctx, v, q.From, q.To)
	if err != nil {
		return List{}, err
	}
	var out List
	if out.Notifications, err = i.d.Reader.List(ctx, v, window, page); err != nil {
		return List{}, err
	}
	ids := make([]int64, len(out.Notifications))
	for n, one := range out.Notifications {
		ids[n] = one.ID
	}
	if out.Activities, err = i.d.Reader.ActivitiesOf(ctx, v, ids, activitiesEach(len(ids))); err != nil {
		return List{}, err
	}
	out.Unread, err = i.d.Reader.Unread(ctx, v, window, MaxUnread)
	return out, err
}

// maxActivitiesEach is the maximum number of activities of a notification on a page of at most 20.
const maxActivitiesEach = 50

// activitiesEach returns the maximum number of activities per notification of a page, so that the cost of a page does
// not grow with the number of readers. The list of activities has the rest.
func activitiesEach(notifications int) int {
	switch {
	case notifications <= 20:
		return maxActivitiesEach
	case notifications <= 100:
		return 10
	case notifications <= 1_000:
		return 5
	default:
		return 1
	}
}

func (i *Inbox) window(ctx context.Context, v notification.Viewer, from, to string) (notification.Window, error) {
	zone, err := i.d.Reader.Zone(ctx, v.Lab)
	if err != nil {
		return notification.Window{}, err
	}
	return notification.ParseWindow(from, to, zone, i.d.Clock.Now())
}

// page parses page and limit. A limit above MaxLimit is reduced to MaxLimit.
func (q Query) page() (Page, error) {
	page, err := number("page", q.Page, 1, maxPage)
	if err != nil {
		return Page{}, err
	}
	limit, err := number("limit", q.Limit, DefaultLimit, 0)
	if err != nil {
		return Page{}, err
	}
	limit = min(limit, MaxLimit)
	return Page{Offset: (page - 1) * limit, Limit: limit}, nil
}

// number parses a positive integer of at most limit, or returns otherwise for "". A limit of 0 means no limit.
func number(name, text string, otherwise, limit int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n < 1:
		return 0, apperr.InvalidField(name, name+" must be a positive integer")
	case limit > 0 && n > limit:
		return 0, apperr.InvalidField(name, fmt.Sprintf("%s must be at most %d; ask for a shorter window", name, limit))
	}
	return n, nil
}

// Marked is the state of a notification after an action.
type Marked struct {
	NotificationID int64
	ReadOn         *int64
	Activities     []notification.Activity
}

// Mark marks one notification read or unread.
func (i *Inbox) Mark(ctx context.Context, v notification.Viewer, id int64, action string) (Marked, error) {
	a, err := notification.ParseAction(action)
	if err != nil {
		return Marked{}, err
	}
	if id <= 0 {
		return Marked{}, apperr.InvalidField("notification_id", "notification_id must be a positive integer")
	}
	readOn, err := i.d.Writer.Mark(ctx, v, id, a, i.d.Clock.Now())
	if err != nil {
		return Marked{}, err
	}
	i.d.Observer.Marked(a, 1)
	i.d.Signals.Changed(ctx, v.Lab)
	activities, err := i.d.Reader.ActivitiesOf(ctx, v, []int64{id}, maxActivitiesEach)
	return Marked{NotificationID: id, ReadOn: readOn, Activities: activities[id]}, err
}

// MarkAll marks the newest unread notifications of the default window with ids up to upTo as read, at most MaxMarked.
// It returns their number. With a nil upTo, it marks all.
func (i *Inbox) MarkAll(ctx context.Context, v notification.Viewer, upTo *int64) (int, error) {
	last := int64(math.MaxInt64)
	if upTo != nil {
		last = *upTo
	}
	if last <= 0 {
		return 0, apperr.InvalidField("up_to", "up_to must be the id of a notification, a positive integer")
	}
	window, err := notification.ParseWindow("", "", time.UTC, i.d.Clock.Now())
	if err != nil {
		return 0, err
	}
	unread, err := i.d.Reader.Unread(ctx, v, window, MaxUnread)
	if err != nil {
		return 0, err
	}
	limit := MaxMarked
	if unread < MaxUnread { // the count is exact, so there are no further unread notifications to find
		limit = int(unread)
	}
	total := 0
	for total < limit {
		step := min(markStep, limit-total)
		n, err := i.d.Writer.MarkRead(ctx, v, window, last, step, i.d.Clock.Now())
		if err != nil {
			return total, err
		}
		total += n
		i.d.Observer.Marked(notification.Read, n)
		if n > 0 {
			i.d.Signals.Changed(ctx, v.Lab)
		}
		if n < step {
			break
		}
	}
	return total, nil
}

// ActivityList holds the activities of a window.
type ActivityList struct {
	Activities   []notification.Activity
	LimitReached bool // there are more activities
}

// Activities returns the activities of a window, newest first.
func (i *Inbox) Activities(ctx context.Context, v notification.Viewer, from, to string) (ActivityList, error) {
	window, err := i.window(ctx, v, from, to)
	if err != nil {
		return ActivityList{}, err
	}
	list, err := i.d.Reader.Activities(ctx, v, window, MaxActivities+1)
	if len(list) > MaxActivities {
		return ActivityList{Activities: list[:MaxActivities], LimitReached: true}, err
	}
	return ActivityList{Activities: list}, err
}
