// Package live streams the inbox to open pages, without gaps after a reconnect.
//
// Ids and times are assigned before the commit, so a notification may become visible after a newer one. Every look
// therefore starts before the previous one, and the stream remembers what it has sent. After a reconnect nothing is
// remembered: the reader may get notifications of that time again, and recognizes them by their id.
package live

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

const (
	page = 100
	// lookEvery is the interval of checks without a signal, because signals may be lost.
	lookEvery = 15 * time.Second
	// rest is the minimum time between two looks, so that many marks at once, or a burst of notifications, become one
	// change of a page. The first notification of a burst is sent at once.
	rest = time.Second
	// shownActivities is the maximum number of activities sent with a notification. The list of activities has the rest.
	shownActivities = 50
	// settle is longer than a commit may take: callers time out before.
	settle = 30 * time.Second
	// mostReworded is the maximum number of changed notifications per look. The list has the rest.
	mostReworded = 1_000
	// replayed is the maximum age of notifications that a reconnected reader gets. The list has the rest.
	replayed = 24 * time.Hour
)

// Signals reports that the inbox of a laboratory may have changed.
type Signals interface {
	// Listen returns a channel that receives a value after every change until stop is called.
	Listen(ctx context.Context, lab authn.LabScope) (signal <-chan struct{}, stop func(), err error)
}

// Reader is one open page. An error of its methods ends the stream.
type Reader interface {
	// Position sends the position of the page. It is called once, before the other methods.
	Position(id int64) error
	Notification(n notification.Notification, activities []notification.Activity) error
	// Changed replaces a notification that the page may show already.
	Changed(n notification.Notification, activities []notification.Activity) error
	Unread(n int64) error
}

// Deps are the dependencies of the use case.
type Deps struct {
	Store   Store
	Changes Changes
	Signals Signals
	Clock   clock.Clock
	Gauge   livefeed.Gauge
	// MaxAge is when a stream ends, so that the login is checked again when the reader reconnects.
	MaxAge time.Duration
	// MaxUnread is the maximum count of unread notifications.
	MaxUnread int
}

// UseCase streams inboxes. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

// Watch sends the notifications that follow the one with id last; without a valid last, new ones only. It also sends
// the count of unread notifications, at first and after each change. It returns nil once the stream is MaxAge old.
func (u *UseCase) Watch(ctx context.Context, v notification.Viewer, last string, out Reader) error {
	listen := func(ctx context.Context) (<-chan struct{}, func(), error) { return u.d.Signals.Listen(ctx, v.Lab) }
	feed := livefeed.Feed{Gauge: u.d.Gauge, Every: lookEvery, Rest: rest, MaxAge: u.d.MaxAge}
	return feed.Follow(ctx, listen,
		&follower{
			Deps: u.d, viewer: v, out: out, last: last, seen: map[int64]int64{}, reworded: map[int64]int64{}, unread: -1,
		})
}

// position returns the position of the notification with id last. ok is false if the viewer has no such notification.
func (f *follower) position(ctx context.Context, last string) (p Position, ok bool, err error) {
	id, err := strconv.ParseInt(last, 10, 64)
	if err != nil || id < 0 {
		return Position{}, false, nil //nolint:nilerr // browsers return an id that they received; other texts are no position
	}
	if id == 0 { // the position of an empty inbox
		return Position{}, true, nil
	}
	p, err = f.Store.Position(ctx, f.viewer, id)
	if errors.Is(err, notification.ErrNotFound) {
		return Position{}, false, nil
	}
	return p, err == nil, err
}
