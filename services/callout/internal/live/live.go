// Package live streams the worklist to open boards. It sends the whole list and the figures at first and after each
// change, so that boards never merge changes.
package live

import (
	"context"
	"reflect"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

const (
	// lookEvery is the interval of checks without a signal: signals may be lost, deadlines pass, and other services change
	// reports.
	lookEvery = 15 * time.Second
	// rest is the minimum time between two checks, so that a burst of results is sent as one change.
	rest = 250 * time.Millisecond
)

// Signals reports that the worklist of a laboratory may have changed.
type Signals interface {
	// Listen returns a channel that receives a value after each change until stop is called.
	Listen(ctx context.Context, lab authn.LabScope) (signal <-chan struct{}, stop func(), err error)
}

// Worklist reads the data that boards show.
type Worklist interface {
	Open(ctx context.Context, scope authn.LabScope, v callout.Visibility) (worklist.Open, error)
	// Recent returns the summary of the last 30 days, which may be a few seconds old.
	Recent(ctx context.Context, scope authn.LabScope, v callout.Visibility) (worklist.Summary, error)
}

// Reader is one open board. An error from a method ends the stream.
type Reader interface {
	// Admitted is called once, before the other methods, when the board is connected.
	Admitted() error
	Open(o worklist.Open) error
	Summary(s worklist.Summary) error
	// Alive is called after 15 seconds without a change. A board that receives nothing for longer displays a lost
	// connection.
	Alive() error
}

// Deps are the dependencies of the use case.
type Deps struct {
	Worklist Worklist
	Signals  Signals
	Gauge    livefeed.Gauge
	// MaxAge is the maximum age of a stream. The reader then reconnects, and the login is checked again.
	MaxAge time.Duration
}

// UseCase streams worklists. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

// Watch streams the visible worklist. It returns nil once the stream is MaxAge old.
func (u *UseCase) Watch(ctx context.Context, scope authn.LabScope, v callout.Visibility, out Reader) error {
	listen := func(ctx context.Context) (<-chan struct{}, func(), error) { return u.d.Signals.Listen(ctx, scope) }
	feed := livefeed.Feed{Gauge: u.d.Gauge, Every: lookEvery, Rest: rest, MaxAge: u.d.MaxAge}
	return feed.Follow(ctx, listen, &stream{worklist: u.d.Worklist, scope: scope, sees: v, out: out})
}

// stream is one open board.
type stream struct {
	worklist Worklist
	scope    authn.LabScope
	sees     callout.Visibility
	out      Reader

	open    *worklist.Open // last state sent; nil: none yet
	summary *worklist.Summary
}

var _ livefeed.Stream = (*stream)(nil)

func (s *stream) Begin(context.Context) error { return s.out.Admitted() }

// Look sends changes or, after an interval without any, Alive. After a change it returns the time until the next check,
// because the figures sent with the change may already be outdated.
func (s *stream) Look(ctx context.Context, idle bool) (again time.Duration, err error) {
	changed, err := s.send(ctx)
	switch {
	case err != nil:
		return 0, err
	case changed:
		return worklist.RecentFor, nil
	case idle:
		return 0, s.out.Alive()
	}
	return 0, nil
}

// send sends the parts that differ from the last state sent. The list comes first, so that the figures never count
// results that the board does not show yet.
func (s *stream) send(ctx context.Context) (changed bool, err error) {
	open, err := s.worklist.Open(ctx, s.scope, s.sees)
	if err != nil {
		return false, err
	}
	if s.open == nil || !same(*s.open, open) {
		changed, s.open = true, &open
		if err := s.out.Open(open); err != nil {
			return true, err
		}
	}
	summary, err := s.worklist.Recent(ctx, s.scope, s.sees)
	if err != nil || (s.summary != nil && reflect.DeepEqual(*s.summary, summary)) {
		return changed, err
	}
	s.summary = &summary
	return true, s.out.Summary(summary)
}

// same reports whether two lists have the same rows, the same number elsewhere and the same state of notices.
func same(a, b worklist.Open) bool {
	return a.LimitReached == b.LimitReached && a.Elsewhere == b.Elsewhere && a.Off == b.Off && equal(a.Items, b.Items) &&
		equal(a.Unclear, b.Unclear) && equal(a.Corrected, b.Corrected) && equal(a.Unconfirmed, b.Unconfirmed)
}

func equal[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b)) }
