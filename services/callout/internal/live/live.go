// Package live owns how an open board follows the worklist: it gets the whole list and the figures at first and
// whenever they changed, so that it never has to put them together from differences.
package live

import (
	"context"
	"reflect"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

const (
	// lookEvery finds what no signal tells: a lost signal, a deadline that passed, a rerun of another service.
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
	// Alive reports that nothing changed: a board that hears nothing for long knows that it is cut off.
	Alive() error
}

// Gauge counts who watches.
type Gauge interface{ Watching(change int) }

// Deps is what the use case works with.
type Deps struct {
	Worklist Worklist
	Signals  Signals
	Gauge    Gauge
	// MaxAge ends a stream, so that a login is looked at again when its reader comes back.
	MaxAge time.Duration
}

// UseCase follows worklists. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

// Watch sends what the person sees until the stream is old enough; then it returns nil.
func (u *UseCase) Watch(ctx context.Context, scope authn.LabScope, v callout.Visibility, out Reader) error {
	signal, stop, err := u.d.Signals.Listen(ctx, scope)
	if err != nil {
		return err
	}
	defer stop()
	if err := out.Admitted(); err != nil {
		return err
	}
	u.d.Gauge.Watching(1)
	defer u.d.Gauge.Watching(-1)
	f := follower{worklist: u.d.Worklist, scope: scope, sees: v, out: out}
	return f.follow(ctx, signal, u.d.MaxAge)
}

// follower is one stream.
type follower struct {
	worklist Worklist
	scope    authn.LabScope
	sees     callout.Visibility
	out      Reader

	open    *worklist.Open // as sent last; nil: not yet
	summary *worklist.Summary
}

func (f *follower) follow(ctx context.Context, signal <-chan struct{}, maxAge time.Duration) error {
	end := time.NewTimer(maxAge)
	defer end.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var again <-chan time.Time // the figures that came with a change may be older than it
	for quiet := false; ; {
		changed, err := f.look(ctx)
		if changed {
			again = time.After(worklist.RecentFor)
		}
		if err == nil && quiet && !changed {
			err = f.out.Alive()
		}
		if err != nil {
			return err
		}
		if err := lifecycle.Pause(ctx, rest); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case <-signal:
			quiet = false
		case <-again:
			quiet, again = false, nil
		case <-look.C:
			quiet = true
		}
	}
}

// look sends what is another than before. The list comes first: figures without it would tell of results that no one
// sees.
func (f *follower) look(ctx context.Context) (changed bool, err error) {
	open, err := f.worklist.Open(ctx, f.scope, f.sees)
	if err != nil {
		return false, err
	}
	if f.open == nil || !same(*f.open, open) {
		changed, f.open = true, &open
		if err := f.out.Open(open); err != nil {
			return true, err
		}
	}
	summary, err := f.worklist.Recent(ctx, f.scope, f.sees)
	if err != nil || (f.summary != nil && reflect.DeepEqual(*f.summary, summary)) {
		return changed, err
	}
	f.summary = &summary
	return true, f.out.Summary(summary)
}

// same compares two lists; the moment of a list is no difference.
func same(a, b worklist.Open) bool {
	return a.LimitReached == b.LimitReached && equal(a.Items, b.Items) && equal(a.Unclear, b.Unclear) &&
		equal(a.Corrected, b.Corrected)
}

func equal[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b)) }
