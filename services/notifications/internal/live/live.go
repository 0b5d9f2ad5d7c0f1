// Package live owns how an open page follows the inbox: from where it was, without a gap, until it goes.
//
// Ids and times are given out before the commit, so a notification may become visible after a newer one. Every look
// therefore begins some time back, and what was sent already is remembered. For a reader that reconnects nothing is
// remembered: it may get again what it had in that time, and tells repeats by their id.
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
	// lookEvery finds changes whose signal was lost.
	lookEvery = 15 * time.Second
	// rest is the shortest time between two looks: what many people read at once, and a run of notifications, is one
	// change of a page. The first of a run is shown at once.
	rest = time.Second
	// shownActivities bounds what comes with a notification; the list of activities has the rest.
	shownActivities = 50
	// settle is more than the time that a commit may take: callers have given up before.
	settle = 30 * time.Second
	// mostReworded bounds the changes of one look; the list has the rest.
	mostReworded = 1_000
	// replayed bounds what a reader that was unavailable gets; the list has the rest.
	replayed = 24 * time.Hour
)

// Signals reports that the inbox of a laboratory may have changed.
type Signals interface {
	// Listen returns a channel that gets a value with every change until stop is called.
	Listen(ctx context.Context, lab authn.LabScope) (signal <-chan struct{}, stop func(), err error)
}

// Reader is an open page. An error of its methods ends the stream.
type Reader interface {
	// Position tells the page where it is; it is called first and once.
	Position(id int64) error
	Notification(n notification.Notification, activities []notification.Activity) error
	// Changed replaces a notification that the page may show already.
	Changed(n notification.Notification, activities []notification.Activity) error
	Unread(n int64) error
}

// Deps is what the use case works with.
type Deps struct {
	Store   Store
	Changes Changes
	Signals Signals
	Clock   clock.Clock
	Gauge   livefeed.Gauge
	// MaxAge ends a stream, so that a login is checked again when its reader reconnects.
	MaxAge time.Duration
	// MaxUnread is where the count of unread notifications stops.
	MaxUnread int
}

// UseCase follows inboxes. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

// Watch sends what comes after the notification called last, without last what comes from now on, and the count of
// unread notifications, at first and whenever it changed. It returns nil when the stream is old enough.
func (u *UseCase) Watch(ctx context.Context, v notification.Viewer, last string, out Reader) error {
	listen := func(ctx context.Context) (<-chan struct{}, func(), error) { return u.d.Signals.Listen(ctx, v.Lab) }
	feed := livefeed.Feed{Gauge: u.d.Gauge, Every: lookEvery, Rest: rest, MaxAge: u.d.MaxAge}
	return feed.Follow(ctx, listen,
		&follower{
			Deps: u.d, viewer: v, out: out, last: last, seen: map[int64]int64{}, reworded: map[int64]int64{}, unread: -1,
		})
}

// position returns where the notification called last is; ok is false when the viewer has none of that name.
func (f *follower) position(ctx context.Context, last string) (p Position, ok bool, err error) {
	id, err := strconv.ParseInt(last, 10, 64)
	if err != nil || id < 0 {
		return Position{}, false, nil //nolint:nilerr // browsers send what they were sent; anything else is no position
	}
	if id == 0 { // of an inbox that was empty
		return Position{}, true, nil
	}
	p, err = f.Store.Position(ctx, f.viewer, id)
	if errors.Is(err, notification.ErrNotFound) {
		return Position{}, false, nil
	}
	return p, err == nil, err
}
