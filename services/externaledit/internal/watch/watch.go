// Package watch owns how a browser follows a report's events: from where it was, without a gap, until it goes.
package watch

import (
	"context"
	"regexp"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Entry is one event of a channel. IDs grow.
type Entry struct{ ID, Event, Data string }

// Log keeps the latest events of channels.
type Log interface {
	// Last returns the id of the channel's newest event, Start when there is none.
	Last(ctx context.Context, channel string) (string, error)
	// After returns at most limit events that came after id, in order.
	After(ctx context.Context, channel, id string, limit int) ([]Entry, error)
	// Listen returns a channel that gets a value when there may be a new event, until stop is called.
	Listen(ctx context.Context, channel string) (signal <-chan struct{}, stop func(), err error)
}

// Start is the id before every event.
const Start = "0-0"

// Reports reports whether the laboratory has the report.
type Reports interface {
	Report(ctx context.Context, scope authn.LabScope, id int64) (session.Report, error)
}

// Gauge counts who watches.
type Gauge interface{ Watching(change int) }

// Deps is what the use case works with.
type Deps struct {
	Reports Reports
	Log     Log
	Gauge   Gauge
	// MaxAge ends a stream, so that a reader's credentials are looked at again when it comes back.
	MaxAge time.Duration
}

// UseCase follows channels.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

const (
	page = 100
	// pollEvery finds events whose signal was lost.
	pollEvery = 20 * time.Second
)

var position = regexp.MustCompile(`^[0-9]{1,19}-[0-9]{1,19}$`)

// Watch sends every event of the report that comes after the one called last; without last, what comes from now on.
// The first entry that it sends has an id alone: where the reader is. It returns nil when the stream is old enough,
// and the error of send.
func (u *UseCase) Watch(
	ctx context.Context, scope authn.LabScope, reportID int64, last string, send func(Entry) error,
) error {
	if _, err := u.d.Reports.Report(ctx, scope, reportID); err != nil {
		return err
	}
	channel := session.Channel(reportID)
	signal, stop, err := u.d.Log.Listen(ctx, channel)
	if err != nil {
		return err
	}
	defer stop()
	if !position.MatchString(last) {
		if last, err = u.d.Log.Last(ctx, channel); err != nil {
			return err
		}
	}
	if err := send(Entry{ID: last}); err != nil {
		return err
	}
	u.d.Gauge.Watching(1)
	defer u.d.Gauge.Watching(-1)
	return u.follow(ctx, channel, last, signal, send)
}

func (u *UseCase) follow(
	ctx context.Context, channel, last string, signal <-chan struct{}, send func(Entry) error,
) error {
	end := time.NewTimer(u.d.MaxAge)
	defer end.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		entries, err := u.d.Log.After(ctx, channel, last, page)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := send(e); err != nil {
				return err
			}
			last = e.ID
		}
		if len(entries) == page {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case <-signal:
		case <-poll.C:
		}
	}
}
