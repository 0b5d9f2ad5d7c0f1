// Package live sends the worklist to open boards: the whole list and the figures at first and after each change, so
// that a board never combines differences.
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
	// lookEvery is the interval of checks without a signal, which may have been lost: deadlines pass, and other services
	// change reports.
	lookEvery = 15 * time.Second
	// rest is the minimum time between two checks, so that a run of results is one change of the board.
	rest = 250 * time.Millisecond
)

// Signals reports that the worklist of a laboratory may have changed.
type Signals interface {
	// Listen returns a channel that gets a value with every change until stop is called.
	Listen(ctx context.Context, lab authn.LabScope) (signal <-chan struct{}, stop func(), err error)
}

// Worklist reads what boards show.
type Worklist interface {
	Open(ctx context.Context, scope authn.LabScope, v callout.Visibility) (worklist.Open, error)
	// Recent returns the summary of the last 30 days; it may be some seconds old.
	Recent(ctx context.Context, scope authn.LabScope, v callout.Visibility) (worklist.Summary, error)
}

// Reader is an open board. An error of its methods ends the stream.
type Reader interface {
	// Admitted is called once, before the other methods: the board is connected.
	Admitted() error
	Open(o worklist.Open) error
	Summary(s worklist.Summary) error
	// Alive is called when nothing changed for 15 seconds. A board that receives nothing for longer shows that it is
	// disconnected.
	Alive() error
}

// Deps is what the use case works with.
type Deps struct {
	Worklist Worklist
	Signals  Signals
	Gauge    livefeed.Gauge
	// MaxAge ends a stream, so that the login is checked again when the reader reconnects.
	MaxAge time.Duration
}

// UseCase sends worklists. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

// Watch sends the visible worklist until the stream is MaxAge old; then it returns nil.
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

	open    *worklist.Open // as sent last; nil: not yet
	summary *worklist.Summary
}

var _ livefeed.Stream = (*stream)(nil)

func (s *stream) Begin(context.Context) error { return s.out.Admitted() }

// Look sends changes, or Alive after an interval without any. After a change it returns the time of another check,
// because the figures sent with a change may be older than it.
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

// send sends what differs from the last state sent. The list is first: the figures would otherwise count results that
// the board does not show yet.
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

// same reports whether two lists are equal apart from their time.
func same(a, b worklist.Open) bool {
	return a.LimitReached == b.LimitReached && a.Elsewhere == b.Elsewhere && a.Off == b.Off && equal(a.Items, b.Items) &&
		equal(a.Unclear, b.Unclear) && equal(a.Corrected, b.Corrected) && equal(a.Unconfirmed, b.Unconfirmed)
}

func equal[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b)) }
