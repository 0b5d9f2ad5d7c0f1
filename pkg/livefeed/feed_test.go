package livefeed_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/livefeed"
)

// page is a stream that records the virtual time of each call.
type page struct {
	signal chan struct{}
	start  time.Time
	again  time.Duration // result of the first Look
	slow   time.Duration // duration of each Look

	mu      sync.Mutex // guards the fields below
	looks   []string
	open    int
	stopped bool
	err     error
}

func newPage() *page { return &page{signal: make(chan struct{}, 1), start: time.Now()} }

func (p *page) listen(context.Context) (<-chan struct{}, func(), error) {
	return p.signal, func() { p.stopped = true }, nil
}

func (p *page) Watching(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += change
}

func (p *page) Begin(context.Context) error { return p.note("begin") }

func (p *page) Look(_ context.Context, idle bool) (time.Duration, error) {
	time.Sleep(p.slow)
	at := time.Since(p.start).String()
	if idle {
		at += " idle"
	}
	again := p.again
	p.again = 0
	return again, p.note(at)
}

func (p *page) note(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks = append(p.looks, what)
	return p.err
}

// ring signals a change, as a hub does.
func (p *page) ring() {
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

func (p *page) follow(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	feed := livefeed.Feed{Gauge: p, Every: 15 * time.Second, Rest: time.Second, MaxAge: 50 * time.Second}
	go func() { done <- feed.Follow(ctx, p.listen, p) }()
	synctest.Wait()
	return done
}

func (p *page) want(t *testing.T, looks ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.looks, looks) {
		t.Errorf("the stream noted %q, want %q", p.looks, looks)
	}
}

func TestAStreamLooksAtFirstAfterSignalsAndAtIntervalsUntilItIsOldEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPage()
		done := p.follow(t.Context())
		time.Sleep(3 * time.Second)
		p.ring()
		if err := <-done; err != nil {
			t.Errorf("a stream of the maximum age ended with %v, want nil", err)
		}
		p.want(t, "begin", "0s", "3s", "15s idle", "30s idle", "45s idle")
		if p.open != 0 || !p.stopped {
			t.Errorf("%d streams are counted and the subscription ended: %t, want 0 and true", p.open, p.stopped)
		}
	})
}

func TestARunOfSignalsIsOneLookPerRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPage()
		done := p.follow(t.Context())
		for range 250 {
			p.ring()
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		p.want(t, "begin", "0s", "1s", "2s")
		<-done
	})
}

func TestSignalsDuringASlowLookAreOneMoreLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPage()
		p.slow = 5 * time.Second
		done := p.follow(t.Context())
		for range 3 {
			time.Sleep(time.Second)
			p.ring()
		}
		time.Sleep(10 * time.Second)
		p.want(t, "begin", "5s", "11s")
		<-done
	})
}

func TestAStreamLooksAgainWhenALookAsksForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPage()
		p.again = 7 * time.Second
		done := p.follow(t.Context())
		time.Sleep(20 * time.Second)
		p.want(t, "begin", "0s", "7s", "15s idle")
		<-done
	})
}

func TestAFailureEndsTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPage()
		done := p.follow(t.Context())
		p.mu.Lock()
		p.err = errors.New("unavailable")
		p.mu.Unlock()
		if err := <-done; !errors.Is(err, p.err) {
			t.Errorf("the stream ended with %v, want %v", err, p.err)
		}
	})
}

func TestAReaderThatLeavesEndsTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPage()
		ctx, leave := context.WithCancel(t.Context())
		done := p.follow(ctx)
		leave()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the stream ended with %v, want %v", err, context.Canceled)
		}
	})
}

func TestAStreamWithoutASubscriptionDoesNotBegin(t *testing.T) {
	t.Parallel()
	p, unavailable := newPage(), errors.New("unavailable")
	err := livefeed.Feed{Gauge: p}.Follow(t.Context(), func(context.Context) (<-chan struct{}, func(), error) {
		return nil, nil, unavailable
	}, p)
	if !errors.Is(err, unavailable) {
		t.Errorf("the stream ended with %v, want %v", err, unavailable)
	}
	p.want(t)
}
