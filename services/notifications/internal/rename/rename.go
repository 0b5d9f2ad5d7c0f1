// Package rename moves devices to the names that topics have under today's keys, when a key is replaced and after the
// upgrade from names without one.
//
// A device gets the current name of each topic before it loses an older one, and every step is stored before the
// provider is called, so a pass may end anywhere and be repeated.
package rename

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

const (
	// Interval is the time between two passes.
	Interval = time.Minute
	// batch is how many devices a pass reads. A device needs a call of the provider for each topic, about four.
	batch = 500
	// settling is how long after its start a process removes no name: until then a rollout may have left processes that
	// push to it, and pushes to it may be on their way.
	settling = time.Hour
)

// Store keeps the devices of all laboratories.
type Store interface {
	// LeadRename runs work in one process at a time; it does nothing where another process leads.
	LeadRename(ctx context.Context, work func(context.Context) error) error
	// Devices lists devices after an id, in the order of ids.
	Devices(ctx context.Context, after int64, limit int) ([]Device, error)
	// Change stores what change makes of the topics of a device, under the lock of its row. A token that the provider
	// does not know (device.ErrUnknownToken) is deleted. Nothing is written when change returns another error or the same
	// lists, or when there is no such device.
	Change(ctx context.Context, lab authn.LabScope, token string, change func(device.Lists) (device.Lists, error)) error
}

// Device is a device of a laboratory.
type Device struct {
	ID, LabID int64
	Token     string
	device.Lists
}

// Gauge shows how far the devices are.
type Gauge interface {
	// Behind is called after all devices were read: n of them lack a name or have an older one.
	Behind(n int)
}

// Deps is what the loop works with.
type Deps struct {
	Store  Store
	Topics device.Topics
	Names  notification.Names
	Clock  clock.Clock
	Gauge  Gauge
}

// Renamer is the loop.
type Renamer struct {
	d       Deps
	removes time.Time // when names may be removed
	after   int64     // the last device of the previous pass
	behind  int       // devices of this walk that are not done
}

// New returns the loop of a process that starts now.
func New(d Deps) *Renamer { return &Renamer{d: d, removes: d.Clock.Now().Add(settling)} }

// RunOnce brings the next devices in line if this process leads. A device that fails delays no other.
func (r *Renamer) RunOnce(ctx context.Context) error {
	return r.d.Store.LeadRename(ctx, func(ctx context.Context) error {
		devices, err := r.d.Store.Devices(ctx, r.after, batch)
		if err != nil {
			return err
		}
		var failed error
		for _, one := range devices {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed = errors.Join(failed, r.rename(ctx, one))
			r.after = one.ID
		}
		if len(devices) < batch {
			r.d.Gauge.Behind(r.behind)
			r.after, r.behind = 0, 0
		}
		return failed
	})
}

func (r *Renamer) rename(ctx context.Context, one Device) error {
	lab, err := authn.Principal{Kind: authn.Service}.Scope(one.LabID)
	if err != nil {
		return err
	}
	s := steps{r, ctx, lab, one.Token}
	if len(s.missing(one.Lists)) > 0 {
		r.behind++
		return errors.Join(s.change(s.announce), s.change(s.subscribe))
	}
	if len(s.older(one.Lists)) == 0 {
		return nil
	}
	r.behind++
	if r.d.Clock.Now().Before(r.removes) {
		return nil
	}
	return errors.Join(s.change(s.doubt), s.change(s.unsubscribe))
}

// steps are the changes of one device. Each reads the lists again, because a login may have changed them.
type steps struct {
	*Renamer

	ctx   context.Context // of one pass
	lab   authn.LabScope
	token string
}

func (s steps) change(step func(device.Lists) (device.Lists, error)) error {
	return s.d.Store.Change(s.ctx, s.lab, s.token, step)
}

// missing are the current names of confirmed topics that are not confirmed. A topic that is only pending may be about
// to be removed; the next subscription decides.
func (s steps) missing(l device.Lists) []string {
	return distinct.Without(s.d.Names.Current(s.lab, l.Confirmed), l.Confirmed)
}

// older are the names of previous keys beside confirmed current ones.
func (s steps) older(l device.Lists) []string {
	current := distinct.Without(s.d.Names.Current(s.lab, l.Confirmed), s.missing(l))
	return s.d.Names.Older(s.lab, l.All(), current)
}

func (s steps) announce(l device.Lists) (device.Lists, error) {
	return l.InDoubt(s.missing(l)), nil
}

func (s steps) subscribe(l device.Lists) (device.Lists, error) {
	names := slices.DeleteFunc(s.missing(l), func(name string) bool { return !slices.Contains(l.Pending, name) })
	failed, err := call(s.ctx, s.token, names, s.d.Topics.Subscribe)
	done := distinct.Without(names, failed)
	l.Confirmed = slices.Sorted(slices.Values(append(slices.Clone(l.Confirmed), done...)))
	l.Pending = distinct.Without(l.Pending, done)
	return l, err
}

func (s steps) doubt(l device.Lists) (device.Lists, error) {
	return l.InDoubt(s.older(l)), nil
}

func (s steps) unsubscribe(l device.Lists) (device.Lists, error) {
	names := slices.DeleteFunc(s.older(l), func(name string) bool { return !slices.Contains(l.Pending, name) })
	failed, err := call(s.ctx, s.token, names, s.d.Topics.Unsubscribe)
	l.Pending = distinct.Without(l.Pending, distinct.Without(names, failed))
	return l, err
}

func call(
	ctx context.Context, token string, names []string, do func(context.Context, string, []string) ([]string, error),
) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return do(ctx, token, names) // what failed stays pending, and the next pass tries again
}
