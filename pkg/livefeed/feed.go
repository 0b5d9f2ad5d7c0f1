// Package livefeed runs the event streams of open pages. A Hub follows the channels of the cache on which replicas
// signal changes, over one connection that it restores; Signals sends and receives them for a laboratory; a Feed reads
// and sends changes at the start, after each signal, and at intervals in case a signal was lost.
//
// Signals carry no data and are coalesced: a signal that comes while a stream reads, rests, or waits for a slow reader
// causes one more read. A stream ends after a maximum age, so that its reader's login is checked again when it
// reconnects.
package livefeed

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Config holds the settings of event streams. A service embeds it in its own Config.
type Config struct {
	// EventStreamSeconds is the age at which a stream ends; the browser reconnects, and its login is checked again.
	EventStreamSeconds int `env:"EVENT_STREAM_SECONDS" envDefault:"900"`
}

// Validate returns an error for a maximum age at which streams would end at once.
func (c *Config) Validate() error {
	if c.EventStreamSeconds <= 0 {
		return fmt.Errorf("EVENT_STREAM_SECONDS is %d: use a number above 0", c.EventStreamSeconds)
	}
	return nil
}

// MaxAge returns the age at which a stream ends.
func (c *Config) MaxAge() time.Duration { return time.Duration(c.EventStreamSeconds) * time.Second }

// Gauge counts open streams. Watching adds change, 1 or -1, to the number.
type Gauge interface{ Watching(change int) }

// Listen subscribes to the signals of a stream: the channel gets a value when something may have changed, until stop is
// called.
type Listen func(ctx context.Context) (signal <-chan struct{}, stop func(), err error)

// Stream sends the events of one open page. An error of its methods ends the stream.
type Stream interface {
	// Begin sends the position at which the stream starts. It is called once, after the subscription, so no change is lost
	// in between.
	Begin(ctx context.Context) error
	// Look sends the changes since the last call. It is called at the start, after each signal and at each interval; idle
	// is true only for the interval. If again is above 0, Look is also called after that time, unless a later call returns
	// another time.
	Look(ctx context.Context, idle bool) (again time.Duration, err error)
}

// Feed holds the settings that all streams of a service share.
type Feed struct {
	Gauge Gauge
	// Every is the interval between calls of Look without a signal, which find changes whose signal was lost.
	Every time.Duration
	// Rest is the shortest time between two calls of Look, so that a burst of changes is read once; 0: none.
	Rest time.Duration
	// MaxAge is the age at which a stream ends.
	MaxAge time.Duration
}

// Follow runs one stream until its maximum age; then it returns nil.
func (f Feed) Follow(ctx context.Context, listen Listen, s Stream) error {
	signal, stop, err := listen(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := s.Begin(ctx); err != nil {
		return err
	}
	f.Gauge.Watching(1)
	defer f.Gauge.Watching(-1)
	return f.run(ctx, signal, s)
}

func (f Feed) run(ctx context.Context, signal <-chan struct{}, s Stream) error {
	end := time.NewTimer(f.MaxAge)
	defer end.Stop()
	interval := time.NewTicker(f.Every)
	defer interval.Stop()
	var later <-chan time.Time
	for idle := false; ; {
		again, err := s.Look(ctx, idle)
		if err != nil {
			return err
		}
		if again > 0 {
			later = time.After(again)
		}
		if err := lifecycle.Pause(ctx, f.Rest); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case <-signal:
			idle = false
		case <-later:
			idle, later = false, nil
		case <-interval.C:
			idle = true
		}
	}
}
