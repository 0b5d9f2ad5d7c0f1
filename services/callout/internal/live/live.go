// Package live owns how an open board follows the worklist: it gets the whole list and the figures at first and
// whenever they changed, so that it never has to put them together from differences.
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
	// lookEvery finds changes without a signal: a lost signal, a deadline that passed, a rerun of another service.
	lookEvery = 15 * time.Second
	// rest is the shortest time between two looks: a run of results is one change of the board.
	rest = 250 * time.Millisecond
)

// Signals reports that the worklist of a laboratory may have changed.
type Signals interface {
	// Listen returns a channel that gets a value with every change until stop is called.
	Listen(ctx context.Context, lab authn.LabScope) (signal <-chan struct{}, stop func(), err error)
}

// Worklist is what waits.
type Worklist interface {
	Open(ctx context.Context, scope authn.LabScope, v callout.Visibility) (worklist.Open, error)
	// Recent is the summary of the last 30 days; it may be some seconds old.
	Recent(ctx context.Context, scope authn.LabScope, v callout.Visibility) (worklist.Summary, error)
}

// Reader is an open board. An error of its methods ends the stream.
type Reader interface {
	// Admitted is called first and once: the board is connected.
	Admitted() error
	Open(o worklist.Open) error
	Summary(s worklist.Summary) error
	// Alive reports that nothing changed: a board that receives nothing for longer shows that it is cut off.
	Alive() error
}

// Deps is what the use case works with.
type Deps struct {
	Worklist Worklist
	Signals  Signals
	Gauge    livefeed.Gauge
	// MaxAge ends a stream, so that a login is looked at again when its reader comes back.
	MaxAge time.Duration
}

// UseCase follows worklists. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

// Watch sends the worklist that the person may see until the stream is old enough; then it returns nil.
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

// Look sends changes, and a sign of life when the interval found none. It asks for another look after a change: the
// figures that come with a change may be older than it.
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

// send sends what differs from the previous look. The list comes first: figures without it would count results that the
// board does not show yet.
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

// same compares two lists; the moment of a list is no difference.
func same(a, b worklist.Open) bool {
	return a.LimitReached == b.LimitReached && a.Elsewhere == b.Elsewhere && a.Off == b.Off && equal(a.Items, b.Items) &&
		equal(a.Unclear, b.Unclear) && equal(a.Corrected, b.Corrected) && equal(a.Unconfirmed, b.Unconfirmed)
}

func equal[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b)) }
