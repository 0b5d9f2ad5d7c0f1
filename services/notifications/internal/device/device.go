// Package device keeps which push topics each device token is subscribed to.
//
// The provider cannot list a token's topics, so the stored lists are the only truth. Topics are pending before they are
// subscribed and confirmed afterwards, and leave the lists after they are unsubscribed: whatever dies in between, a
// topic that the provider has is in one of the lists, and a confirmed topic is at the provider. Every change raises the
// row's generation. Anyone who finds that another login, tab or change came in between takes back what it has just
// subscribed.
package device

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

const maxToken = 512 // characters; the width of the column

// ErrUnknownToken reports that the provider knows the token no more: the app was removed.
var ErrUnknownToken = errors.New("the push provider does not know the token")

// ErrMoved reports that another login took the token over meanwhile.
var ErrMoved = apperr.New(apperr.Conflict, "TOKEN_MOVED", "Another login uses this device now; subscribe again")

// Topics is the push provider. Both methods return the topics that failed; an error concerns all of them.
type Topics interface {
	Subscribe(ctx context.Context, token string, topics []string) (failed []string, err error)
	Unsubscribe(ctx context.Context, token string, topics []string) (failed []string, err error)
}

// Device is one token.
type Device struct {
	Token    string
	DeviceID string // "": not told
	Platform string // web, android, ios; "": not told
	Lists
}

// Lists are the stored topics of a token.
type Lists struct {
	Confirmed []string // the provider has them
	Pending   []string // the provider may have them
	// Generation is that of the row when the lists were read.
	Generation int64
}

// All returns every topic that the provider may have.
func (l Lists) All() []string {
	return append(slices.Clone(l.Confirmed), distinct.Without(l.Pending, l.Confirmed)...)
}

// Done is what was changed at the provider.
type Done struct{ Added, Removed []string }

// Missing returns what of the removed topics the lists have.
func (d Done) Missing(l Lists) []string {
	all := l.All()
	return slices.DeleteFunc(slices.Clone(d.Removed), func(topic string) bool { return !slices.Contains(all, topic) })
}

// Store keeps devices.
type Store interface {
	// Claim makes the token the viewer's, whichever login had it, and returns the stored topics with the new generation.
	Claim(ctx context.Context, v notification.Viewer, d Device, now time.Time) (Lists, error)
	// SaveTopics stores the topics of the viewer's token, and raises the generation by one. It is ErrMoved when the token
	// is someone else's or its generation is not that of l any more.
	SaveTopics(ctx context.Context, v notification.Viewer, token string, l Lists, now time.Time) error
	// Undo takes back what was done at the provider for a token that moved meanwhile, while no one can change its row:
	// undo gets the added topics that are in no list of the token, and the removed ones that are in one. When it fails,
	// all of them become pending: of the token's owner, or of no one until a sweep.
	Undo(
		ctx context.Context,
		v notification.Viewer,
		token string,
		done Done,
		undo func(gone, missing []string) error,
	) error
	// Find returns the topics of the viewer's token; found is false when it is unknown or someone else's.
	Find(ctx context.Context, v notification.Viewer, token string) (l Lists, found bool, err error)
	// Forget deletes the viewer's token. It is ErrMoved when it is someone else's or of another generation.
	Forget(ctx context.Context, v notification.Viewer, token string, generation int64) error
	// Drop deletes a token that the provider does not know.
	Drop(ctx context.Context, v notification.Viewer, token string) error
	// OfLogin lists the devices of a login.
	OfLogin(ctx context.Context, v notification.Viewer) ([]Device, error)
	// Wanted lists the types that the viewer's devices get: on for the laboratory and not switched off by the login.
	Wanted(ctx context.Context, v notification.Viewer) ([]notification.Kind, error)
}

// Devices is the use case. Its methods may be called from several goroutines.
type Devices struct {
	store  Store
	topics Topics
	zone   notification.Zone
	clock  clock.Clock
	off    bool // no one is subscribed any more
}

// ErrOff reports that this installation pushes to no one.
var ErrOff = apperr.New(apperr.Unavailable, "PUSH_OFF",
	"This installation sends no push messages; ask its operator to set NOTIFICATIONS_PUSH_PROVIDER=fcm")

// New returns the use case. Without topics no one is subscribed, and told so.
func New(store Store, topics Topics, zone notification.Zone, c clock.Clock) *Devices {
	d := &Devices{store, topics, zone, c, topics == nil}
	if d.off {
		d.topics = Accepting{} // for devices of a time when there was one
	}
	return d
}

// Outcome is the outcome of a subscription.
type Outcome struct {
	Topics []string // subscribed now
	Failed []string // the provider refused; subscribing again tries them again
}

// Subscribe brings the token's topics in line with the viewer's preferences. A token that another login had loses that
// login's topics.
func (d *Devices) Subscribe(ctx context.Context, v notification.Viewer, device Device) (Outcome, error) {
	if err := check(device); err != nil {
		return Outcome{}, err
	}
	if d.off {
		return Outcome{}, ErrOff
	}
	wanted, err := d.wanted(ctx, v)
	if err != nil {
		return Outcome{}, err
	}
	stored, err := d.store.Claim(ctx, v, device, d.clock.Now())
	if err != nil {
		return Outcome{}, err
	}
	return d.align(ctx, v, device.Token, stored, wanted)
}

// Release takes the token from any login that had it, for a login that is told nothing: its browser must not continue
// showing what the previous login gets.
func (d *Devices) Release(ctx context.Context, v notification.Viewer, token string) error {
	if err := check(Device{Token: token}); err != nil {
		return err
	}
	stored, err := d.store.Claim(ctx, v, Device{Token: token}, d.clock.Now())
	if err != nil {
		return err
	}
	out, err := d.align(ctx, v, token, stored, nil)
	switch {
	case err != nil:
	case len(out.Failed) > 0:
		err = d.refused(ctx, v, token, errStuck)
	default:
		err = d.store.Forget(ctx, v, token, stored.Generation+1) // align has saved once
	}
	if errors.Is(err, ErrMoved) {
		return nil // another login has it already
	}
	return err
}

func check(device Device) error {
	switch {
	case device.Token == "":
		return apperr.InvalidField("token", "token is required")
	case len(device.Token) > maxToken,
		strings.ContainsFunc(device.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return apperr.InvalidField("token", "token must be the device's registration token, at most 512 characters")
	case !slices.Contains([]string{"", "web", "android", "ios"}, device.Platform):
		return apperr.InvalidField("platform", "platform must be web, android or ios")
	case len([]rune(device.DeviceID)) > 190:
		return apperr.InvalidField("device_id", "device_id must have at most 190 characters")
	}
	return nil
}

// wanted returns the topics of the viewer.
func (d *Devices) wanted(ctx context.Context, v notification.Viewer) ([]string, error) {
	kinds, err := d.store.Wanted(ctx, v)
	if err != nil {
		return nil, err
	}
	var topics []string
	for _, k := range kinds {
		for _, ref := range v.Refs() {
			topics = append(topics, d.zone.Topic(k.ID, ref))
		}
	}
	slices.Sort(topics)
	return topics, nil
}

// align unsubscribes what is not wanted and subscribes what is not confirmed.
func (d *Devices) align(
	ctx context.Context,
	v notification.Viewer,
	token string,
	stored Lists,
	wanted []string,
) (Outcome, error) {
	gone, missing := distinct.Without(stored.All(), wanted), distinct.Without(wanted, stored.Confirmed)
	kept := distinct.Without(stored.Confirmed, gone)
	stuck, err := d.call(ctx, token, gone, d.topics.Unsubscribe)
	if err != nil {
		return Outcome{}, d.refused(ctx, v, token, err)
	}
	before := Lists{
		Confirmed: kept, Pending: append(slices.Clone(stuck), missing...), Generation: stored.Generation,
	}
	done := Done{Removed: distinct.Without(gone, stuck)}
	if err := d.save(ctx, v, token, before, done); err != nil {
		return Outcome{}, err
	}
	if len(missing) == 0 {
		return outcome(kept, stuck), nil
	}
	failed, err := d.call(ctx, token, missing, d.topics.Subscribe)
	if err != nil {
		return Outcome{}, d.refused(ctx, v, token, err)
	}
	done.Added = distinct.Without(missing, failed)
	after := Lists{Confirmed: append(kept, done.Added...), Pending: stuck, Generation: before.Generation + 1}
	return outcome(after.Confirmed, append(failed, stuck...)), d.save(ctx, v, token, after, done)
}

// save stores the lists. When the token moved meanwhile, what was done at the provider is undone.
func (d *Devices) save(ctx context.Context, v notification.Viewer, token string, l Lists, done Done) error {
	err := d.store.SaveTopics(ctx, v, token, l, d.clock.Now())
	if !errors.Is(err, ErrMoved) {
		return err
	}
	failed := d.store.Undo(ctx, v, token, done, func(gone, missing []string) error {
		return errors.Join(
			d.all(ctx, token, gone, d.topics.Unsubscribe), d.all(ctx, token, missing, d.topics.Subscribe),
		)
	})
	if failed != nil {
		return failed
	}
	return err
}

// all is call for who needs every topic done. A token that the provider does not know has none.
func (d *Devices) all(
	ctx context.Context, token string, topics []string, do func(context.Context, string, []string) ([]string, error),
) error {
	stuck, err := d.call(ctx, token, topics, do)
	if errors.Is(err, ErrUnknownToken) {
		return nil
	}
	if err == nil && len(stuck) > 0 {
		err = errStuck
	}
	return err
}

var errStuck = errors.New("some topics stayed subscribed")

func outcome(topics, failed []string) Outcome {
	slices.Sort(topics)
	return Outcome{Topics: topics, Failed: failed}
}

func (*Devices) call(
	ctx context.Context,
	token string,
	topics []string,
	do func(context.Context, string, []string) ([]string, error),
) ([]string, error) {
	if len(topics) == 0 {
		return nil, nil
	}
	return do(ctx, token, topics)
}

// refused forgets a token that the provider does not know, and says which side is at fault.
func (d *Devices) refused(ctx context.Context, v notification.Viewer, token string, err error) error {
	if !errors.Is(err, ErrUnknownToken) {
		return apperr.New(apperr.Unavailable, "PUSH_PROVIDER_DOWN", "The push provider does not answer; subscribe again in a minute").
			WithCause(err)
	}
	if err := d.store.Drop(ctx, v, token); err != nil {
		return err
	}
	return apperr.InvalidField("token", "the push provider does not know this token; get a new one and subscribe again")
}

// attempts is how often a change that came in between is looked at again.
const attempts = 5

var errBusy = apperr.New(
	apperr.Unavailable,
	"DEVICE_BUSY",
	"The device is being subscribed elsewhere; try again in a minute",
)

// untilSettled repeats do while someone else changes the device.
func untilSettled(do func() error) error {
	for range attempts {
		if err := do(); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return errBusy
}

// Resubscribe brings all devices of a login in line with the preferences. It may be repeated.
func (d *Devices) Resubscribe(ctx context.Context, v notification.Viewer) error {
	return untilSettled(func() error { return d.resubscribe(ctx, v) })
}

func (d *Devices) resubscribe(ctx context.Context, v notification.Viewer) error {
	devices, err := d.store.OfLogin(ctx, v)
	if err != nil {
		return err
	}
	wanted, err := d.wanted(ctx, v)
	if err != nil {
		return err
	}
	for _, one := range devices {
		out, err := d.align(ctx, v, one.Token, one.Lists, wanted)
		switch {
		case apperr.Is(err, apperr.Invalid):
			continue // the token is gone
		case err != nil:
			return err
		case len(out.Failed) > 0:
			return apperr.New(apperr.Unavailable, "PUSH_PROVIDER_DOWN", "The push provider refused some topics")
		}
	}
	return nil
}

// Unsubscribe ends every subscription of the viewer's token and forgets it. A token that is not known is not an error:
// a log-out must not fail. Nor is one that another login has taken over, and that one keeps its notifications: the page
// of the previous login may still be open. It returns the topics that were stored.
func (d *Devices) Unsubscribe(ctx context.Context, v notification.Viewer, token string) (topics []string, err error) {
	if err := check(Device{Token: token}); err != nil {
		return nil, err
	}
	err = untilSettled(func() (err error) {
		topics, err = d.unsubscribe(ctx, v, token)
		return err
	})
	return topics, err
}

func (d *Devices) unsubscribe(ctx context.Context, v notification.Viewer, token string) ([]string, error) {
	stored, found, err := d.store.Find(ctx, v, token)
	if err != nil || !found {
		return nil, err
	}
	topics := stored.All()
	failed, err := d.call(ctx, token, topics, d.topics.Unsubscribe)
	if err != nil && !errors.Is(err, ErrUnknownToken) {
		return nil, d.refused(ctx, v, token, err)
	}
	if len(failed) > 0 && err == nil {
		return nil, d.refused(ctx, v, token, errStuck)
	}
	return topics, d.store.Forget(ctx, v, token, stored.Generation)
}

// Accepting is the provider of a deployment without push credentials: the topics are kept, and the task queue's mailbox
// shows what would have been pushed to them.
type Accepting struct{}

var _ Topics = (*Accepting)(nil)

func (Accepting) Subscribe(context.Context, string, []string) ([]string, error) { return nil, nil }

func (Accepting) Unsubscribe(context.Context, string, []string) ([]string, error) { return nil, nil }
