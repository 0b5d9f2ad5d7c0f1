// Package sweep deletes idle devices: the push provider drops their tokens after 270 days, and an unused device should
// not get a laboratory's notifications.
package sweep

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
)

// Config holds the settings of the loop.
type Config struct {
	Interval time.Duration `env:"INTERVAL" envDefault:"1h"`
	// IdleDays is the number of days without a subscription after which a device is idle.
	IdleDays int `env:"IDLE_DAYS" envDefault:"270"`
}

// Validate refuses a loop without pauses, and one that would delete devices in use: a browser may stay closed over a
// holiday.
func (c *Config) Validate() error {
	if c.Interval <= 0 {
		return errors.New("SWEEP_INTERVAL must be above 0")
	}
	const least = 30
	if c.IdleDays < least {
		return errors.New("SWEEP_IDLE_DAYS must be 30 or more")
	}
	return nil
}

// Store finds and forgets devices.
type Store interface {
	// Lead runs work in one process at a time; it does nothing where another process leads.
	Lead(ctx context.Context, work func(context.Context) error) error
	// Idle lists devices that were last active before the given time, the longest idle first, after the position.
	Idle(ctx context.Context, before time.Time, after Position, limit int) ([]Device, error)
	// Suspect makes the confirmed topics of an idle device pending, so that its next subscription repeats them. It returns
	// false when the device has been active since.
	Suspect(ctx context.Context, lab authn.LabScope, token string, before time.Time) (bool, error)
	// Retire calls unsubscribe with the stored topics of an idle device and deletes it, under the lock of its row. It
	// returns false without a call when the device has been active since.
	Retire(
		ctx context.Context,
		lab authn.LabScope,
		token string,
		before time.Time,
		unsubscribe func(topics []string) error,
	) (bool, error)
}

// Position is the position after which a list of idle devices continues.
type Position struct {
	LastActivity time.Time
	ID           int64
}

// Device is an idle device.
type Device struct {
	Position
	LabID int64
	Token string
}

// Counters counts idle devices by outcome.
type Counters interface {
	Swept(Outcome)
}

// Outcome is the outcome of an idle device.
type Outcome string

// The outcomes.
const (
	Forgotten Outcome = "forgotten"
	Returned  Outcome = "returned" // active again
	Failed    Outcome = "failed"   // not unsubscribed by the push provider; the next pass tries again
)

// Outcomes lists all.
func Outcomes() []Outcome { return []Outcome{Forgotten, Returned, Failed} }

// Deps are what the loop works with.
type Deps struct {
	Config   Config
	Store    Store
	Topics   device.Topics
	Clock    clock.Clock
	Counters Counters
}

// Sweeper is the loop.
type Sweeper struct {
	d    Deps
	from Position // start of the next pass, so that failing devices do not delay the others
}

// New returns the loop. Without Topics it deletes idle devices without a call.
func New(d Deps) *Sweeper {
	if d.Topics == nil {
		d.Topics = device.Accepting{}
	}
	return &Sweeper{d: d}
}

const batch = 200 // devices of one pass

// RunOnce makes one pass if this process leads.
func (s *Sweeper) RunOnce(ctx context.Context) error {
	return s.d.Store.Lead(ctx, func(ctx context.Context) error {
		before := s.d.Clock.Now().AddDate(0, 0, -s.d.Config.IdleDays)
		devices, err := s.d.Store.Idle(ctx, before, s.from, batch)
		if err != nil {
			return err
		}
		var failed error
		for _, one := range devices {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed = errors.Join(failed, s.forget(ctx, one, before))
			s.from = one.Position
		}
		if len(devices) < batch {
			s.from = Position{}
		}
		return failed
	})
}

// forget takes two steps, because the process may die between the provider's response and the commit of the second: a
// device that returns then finds its topics pending and subscribes to all of them again.
func (s *Sweeper) forget(ctx context.Context, one Device, before time.Time) error {
	lab, err := authn.Principal{Kind: authn.Service}.Scope(one.LabID)
	if err != nil {
		return err
	}
	idle, err := s.d.Store.Suspect(ctx, lab, one.Token, before)
	if err == nil && idle {
		idle, err = s.d.Store.Retire(
			ctx,
			lab,
			one.Token,
			before,
			func(topics []string) error { return s.unsubscribe(ctx, one.Token, topics) },
		)
	}
	switch {
	case err != nil:
		s.d.Counters.Swept(Failed)
	case idle:
		s.d.Counters.Swept(Forgotten)
	default:
		s.d.Counters.Swept(Returned)
	}
	return err
}

var errStuck = errors.New("the push provider kept some topics of an idle device")

func (s *Sweeper) unsubscribe(ctx context.Context, token string, topics []string) error {
	if len(topics) == 0 {
		return nil
	}
	failed, err := s.d.Topics.Unsubscribe(ctx, token, topics)
	switch {
	case errors.Is(err, device.ErrUnknownToken):
		return nil
	case err != nil:
		return err
	case len(failed) > 0:
		return errStuck
	}
	return nil
}
