package live

import (
	"context"
	"maps"
	"time"

	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// follower is one event stream.
type follower struct {
	Deps

	viewer notification.Viewer
	out    Reader
	last   string          // id of the last notification that the reader has; "" if unknown
	since  int64           // epoch seconds; older notifications can no longer become visible
	seen   map[int64]int64 // notifications since then that need not be sent, with their time
	unread int64           // count last sent; -1: none yet
	// reworded holds the changed notifications that were sent, with the time of the change, if it is not before since.
	reworded map[int64]int64
}

var _ livefeed.Stream = (*follower)(nil)

func (f *follower) Begin(ctx context.Context) error {
	at, err := f.begin(ctx)
	if err != nil {
		return err
	}
	return f.out.Position(at)
}

// begin sets the time from which the first look starts, and returns the id of the reader's position.
func (f *follower) begin(ctx context.Context) (int64, error) {
	now := f.Clock.Now()
	at, ok, err := f.position(ctx, f.last)
	if err != nil {
		return 0, err
	}
	if ok {
		f.since = max(at.CreatedAt-seconds(settle), now.Add(-replayed).Unix())
		f.seen[at.ID] = at.CreatedAt
		return at.ID, nil
	}
	f.since = now.Add(-settle).Unix()
	if at, err = f.Store.Newest(ctx, f.viewer); err != nil {
		return 0, err
	}
	return at.ID, f.each(ctx, func([]notification.Notification) error { return nil }) // older than the stream
}

// Look sends new and changed notifications, and the count of unread ones.
func (f *follower) Look(ctx context.Context, _ bool) (again time.Duration, err error) {
	now := f.Clock.Now()
	err = f.each(ctx, func(list []notification.Notification) error { return f.send(ctx, list, f.out.Notification) })
	if err != nil {
		return 0, err
	}
	if err := f.change(ctx); err != nil {
		return 0, err
	}
	f.since = max(f.since, now.Add(-settle).Unix())
	forget(f.seen, f.since)
	forget(f.reworded, f.since)
	return 0, f.count(ctx, now)
}

// forget removes entries with a time before since.
func forget(sent map[int64]int64, since int64) {
	maps.DeleteFunc(sent, func(_, at int64) bool { return at < since })
}

// change sends notifications whose text was replaced.
func (f *follower) change(ctx context.Context) error {
	list, err := f.Changes.Reworded(ctx, f.viewer, f.since, mostReworded)
	if err != nil {
		return err
	}
	var unsent []notification.Notification
	for _, r := range list {
		if _, ok := f.reworded[r.ID]; !ok {
			unsent = append(unsent, r.Notification)
			f.reworded[r.ID] = r.At
		}
	}
	return f.send(ctx, unsent, f.out.Changed)
}

// each calls do with the notifications that are not in seen, oldest first, page by page.
func (f *follower) each(ctx context.Context, do func([]notification.Notification) error) error {
	from := Position{CreatedAt: f.since}
	for {
		list, err := f.Store.After(ctx, f.viewer, from, page)
		if err != nil {
			return err
		}
		var unseen []notification.Notification
		for _, n := range list {
			if _, ok := f.seen[n.ID]; !ok {
				unseen = append(unseen, n)
			}
			from = Position{n.CreatedAt, n.ID}
		}
		if err := do(unseen); err != nil {
			return err
		}
		for _, n := range unseen {
			f.seen[n.ID] = n.CreatedAt
		}
		if len(list) < page {
			return nil
		}
	}
}

func (f *follower) send(
	ctx context.Context, list []notification.Notification,
	out func(notification.Notification, []notification.Activity) error,
) error {
	if len(list) == 0 {
		return nil
	}
	ids := make([]int64, len(list))
	for i, n := range list {
		ids[i] = n.ID
	}
	activities, err := f.Store.ActivitiesOf(ctx, f.viewer, ids, shownActivities)
	if err != nil {
		return err
	}
	for _, n := range list {
		if err := out(n, activities[n.ID]); err != nil {
			return err
		}
	}
	return nil
}

// count sends the number of unread notifications if it has changed.
func (f *follower) count(ctx context.Context, now time.Time) error {
	window, err := notification.ParseWindow("", "", time.UTC, now)
	if err != nil {
		return err
	}
	unread, err := f.Store.Unread(ctx, f.viewer, window, f.MaxUnread)
	if err != nil || unread == f.unread {
		return err
	}
	f.unread = unread
	return f.out.Unread(unread)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
