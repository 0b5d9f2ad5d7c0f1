// Package rename moves devices to the present names of their topics, after a key was replaced or after the upgrade from
// names without a key.
//
// A device gets the present name of each topic before it loses the previous one. Every step is stored before the
// provider is called, so a pass may stop anywhere and be repeated.
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
	// batch is the number of devices per pass. A device needs a call of the provider per topic, about four.
	batch = 500
	// settling is how long after its start a process removes no names. Until then, processes of the previous version may
	// still push to them, or pushes may be on their way.
	settling = time.Hour
)

// Store keeps the devices of all laboratories.
type Store interface {
	// LeadRename calls work in one process at a time. It does nothing if another process is the leader.
	LeadRename(ctx context.Context, work func(context.Context) error) error
	// Devices returns devices with ids above after, ordered by id.
	Devices(ctx context.Context, after int64, limit int) ([]Device, error)
	// Change locks the row of a device, calls change with its topics and stores the result. It deletes a token that the
	// provider does not know (device.ErrUnknownToken). It writes nothing if change returns another error or the same
	// lists, or if there is no such device.
	Change(ctx context.Context, lab authn.LabScope, token string, change func(device.Lists) (device.Lists, error)) error
}

// Device is a device with its laboratory.
type Device struct {
	ID, LabID int64
	Token     string
	device.Lists
}

// Gauge shows how many devices still have to be renamed.
type Gauge interface {
	// Behind is called after all devices were read. n of them lack a present name or have a previous one.
	Behind(n int)
}

// Deps are the dependencies of the loop.
type Deps struct {
	Store  Store
	Topics device.Topics
	Names  notification.Names
	Clock  clock.Clock
	Gauge  Gauge
}

// Renamer moves devices to the present topic names. RunOnce makes one pass.
type Renamer struct {
	d       Deps
	removes time.Time // time from which names may be removed
	after   int64     // id of the last device of the previous pass
	behind  int       // devices found so far, in this round over all devices, that have to be renamed
}

// New returns a loop with the dependencies d. Its settling time starts now.
func New(d Deps) *Renamer { return &Renamer{d: d, removes: d.Clock.Now().Add(settling)} }

// RunOnce renames the topics of the next devices if this process is the leader. The failure of one device does not stop
// the others.
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

// steps are the changes of one device. Each step reads the lists again, because a login may have changed them.
type steps struct {
	*Renamer

	ctx   context.Context // context of one pass
	lab   authn.LabScope
	token string
}

func (s steps) change(step func(device.Lists) (device.Lists, error)) error {
	return s.d.Store.Change(s.ctx, s.lab, s.token, step)
}

// missing returns the present names of confirmed topics that are not confirmed. Topics that are only pending are
// ignored, because they may be about to be removed; the next subscription decides.
func (s steps) missing(l device.Lists) []string {
	return distinct.Without(s.d.Names.Current(s.lab, l.Confirmed), l.Confirmed)
}

// older returns the names with previous keys of topics whose present names are confirmed.
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
	return do(ctx, token, names) // failed names stay pending, and the next pass tries again
}
