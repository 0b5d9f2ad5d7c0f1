// Package watch streams the events of a report to a browser, without gaps after a reconnect.
package watch

import (
	"context"
	"regexp"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Entry is one event of a channel. IDs increase.
type Entry struct{ ID, Event, Data string }

// Log stores the latest events of channels.
type Log interface {
	// Last returns the id of the channel's newest event, or Start if it has none.
	Last(ctx context.Context, channel string) (string, error)
	// After returns at most limit events with ids above id, in order.
	After(ctx context.Context, channel, id string, limit int) ([]Entry, error)
	// Listen returns a channel that receives a value when there may be a new event, until stop is called.
	Listen(ctx context.Context, channel string) (signal <-chan struct{}, stop func(), err error)
}

// Start is an id lower than that of every event.
const Start = "0-0"

// Reports checks that a report belongs to the laboratory.
type Reports interface {
	Report(ctx context.Context, scope authn.LabScope, id int64) (session.Report, error)
}

// Deps are the dependencies of the use case.
type Deps struct {
	Reports Reports
	Log     Log
	Gauge   livefeed.Gauge
	// MaxAge is when a stream ends, so that the reader's credentials are checked again when it reconnects.
	MaxAge time.Duration
}

// UseCase streams the events of reports.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

const (
	page = 100
	// pollEvery is the interval of checks without a signal, because signals may be lost.
	pollEvery = 20 * time.Second
)

var position = regexp.MustCompile(`^[0-9]{1,19}-[0-9]{1,19}$`)

// Watch sends the events of the report that follow the event with id last. Without a valid last, it sends only new
// events. The first entry has only an id: the position from which the stream starts. Watch returns nil when the stream
// is MaxAge old, or the error of send.
func (u *UseCase) Watch(
	ctx context.Context, scope authn.LabScope, reportID int64, last string, send func(Entry) error,
) error {
	if _, err := u.d.Reports.Report(ctx, scope, reportID); err != nil {
		return err
	}
	channel := session.Channel(reportID)
	listen := func(ctx context.Context) (<-chan struct{}, func(), error) { return u.d.Log.Listen(ctx, channel) }
	feed := livefeed.Feed{Gauge: u.d.Gauge, Every: pollEvery, MaxAge: u.d.MaxAge}
	return feed.Follow(ctx, listen, &stream{log: u.d.Log, channel: channel, last: last, send: send})
}

// stream is one open event stream.
type stream struct {
	log     Log
	channel string
	last    string // id of the last event sent
	send    func(Entry) error
}

var _ livefeed.Stream = (*stream)(nil)

func (s *stream) Begin(ctx context.Context) (err error) {
	if !position.MatchString(s.last) {
		if s.last, err = s.log.Last(ctx, s.channel); err != nil {
			return err
		}
	}
	return s.send(Entry{ID: s.last})
}

func (s *stream) Look(ctx context.Context, _ bool) (again time.Duration, err error) {
	for {
		entries, err := s.log.After(ctx, s.channel, s.last, page)
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			if err := s.send(e); err != nil {
				return 0, err
			}
			s.last = e.ID
		}
		if len(entries) < page {
			return 0, nil
		}
	}
}
