// Package sweep deletes idle devices: the push provider drops their tokens after 270 days, and an unused device should
// not receive a laboratory's notifications.
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

// Validate rejects a loop without pauses, and a number of days so low that devices in use would be deleted: a browser
// may stay closed over a holiday.
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

// Store finds and deletes idle devices.
type Store interface {
	// Lead calls work in one process at a time. It does nothing if another process is the leader.
	Lead(ctx context.Context, work func(context.Context) error) error
	// Idle returns at most limit devices that were last active before the given time, the longest idle first, starting
	// after the position.
	Idle(ctx context.Context, before time.Time, after Position, limit int) ([]Device, error)
	// Suspect makes the confirmed topics of an idle device pending, so that its next subscription adds them again. It
	// returns false if the device has been active since.
	Suspect(ctx context.Context, lab authn.LabScope, token string, before time.Time) (bool, error)
	// Retire locks the row of an idle device, calls unsubscribe with its stored topics and deletes it. If the device has
	// been active since, it does nothing and returns false.
	Retire(
		ctx context.Context,
		lab authn.LabScope,
		token string,
		before time.Time,
		unsubscribe func(topics []string) error,
	) (bool, error)
}

// Position is the device after which a list of idle devices continues.
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

// Outcome is the result of sweeping an idle device.
type Outcome string

// Outcomes for one device, as metrics name them.
const (
	Forgotten Outcome = "forgotten"
	Returned  Outcome = "returned" // the device is active again
	Failed    Outcome = "failed"   // the push provider failed to unsubscribe it; the next pass tries again
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{Forgotten, Returned, Failed} }

// Deps are the dependencies of the loop.
type Deps struct {
	Config   Config
	Store    Store
	Topics   device.Topics
	Clock    clock.Clock
	Counters Counters
}

// Sweeper deletes idle devices. RunOnce makes one pass.
type Sweeper struct {
	d    Deps
	from Position // position from which the next pass starts, so that failing devices do not delay the others
}

// New returns a loop with the dependencies d. Without Topics, it deletes idle devices without calling a provider.
func New(d Deps) *Sweeper {
	if d.Topics == nil {
		d.Topics = device.Accepting{}
	}
	return &Sweeper{d: d}
}

const batch = 200 // devices per pass

// RunOnce makes one pass if this process is the leader.
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

// forget deletes a device in two steps, because the process may crash between the provider's response and the second
// commit. If the device then returns, its topics are pending and it subscribes to all of them again.
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
