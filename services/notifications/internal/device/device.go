// Package device subscribes device tokens to push topics and records the topics of each token.
//
// The provider cannot list a token's topics, so the stored lists are the only record of them. Topics are pending before
// they are subscribed and confirmed afterwards. They are pending again before they are unsubscribed, and leave the
// lists afterwards. Wherever a process dies, every topic at the provider is in one of the lists, and every confirmed
// topic is at the provider. Every change raises the row's generation. A request that finds another generation reverses
// its changes at the provider; one of the same login then tries again.
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

const maxToken = 512 // in characters; the width of the column

// ErrUnknownToken is returned if the provider no longer has the token, because the app was removed.
var ErrUnknownToken = errors.New("the push provider does not know the token")

// ErrMoved is returned if another login has taken the token, or another request has changed its topics.
var ErrMoved = apperr.New(apperr.Conflict, "TOKEN_MOVED", "Another login uses this device now; subscribe again")

// Topics is the push provider. Both methods return the topics that failed. An error concerns all topics.
type Topics interface {
	Subscribe(ctx context.Context, token string, topics []string) (failed []string, err error)
	Unsubscribe(ctx context.Context, token string, topics []string) (failed []string, err error)
}

// Device is one token.
type Device struct {
	Token    string
	DeviceID string // "": unknown
	Platform string // web, android or ios; "" if unknown
	Lists
}

// Lists are the stored topics of a token.
type Lists struct {
	Confirmed []string // the provider has subscribed the token to them
	Pending   []string // the provider may have subscribed the token to them
	// Generation is the generation of the row when the lists were read.
	Generation int64
}

// All returns every topic that the provider may have.
func (l Lists) All() []string {
	return append(slices.Clone(l.Confirmed), distinct.Without(l.Pending, l.Confirmed)...)
}

// InDoubt returns the lists with topics moved to Pending, because the provider may or may not have them. The next
// subscription corrects that.
func (l Lists) InDoubt(topics []string) Lists {
	l.Confirmed = distinct.Without(l.Confirmed, topics)
	l.Pending = append(distinct.Without(l.Pending, topics), topics...)
	return l
}

// Same reports whether both lists have the same topics.
func (l Lists) Same(other Lists) bool {
	return equal(l.Confirmed, other.Confirmed) && equal(l.Pending, other.Pending)
}

func equal(a, b []string) bool {
	return len(distinct.Without(a, b)) == 0 && len(distinct.Without(b, a)) == 0
}

// Done holds the changes that a request made at the provider.
type Done struct{ Added, Removed []string }

func (d Done) empty() bool { return len(d.Added)+len(d.Removed) == 0 }

// Reverse returns the changes that undo d for a token that now has the lists l. extra are added topics that are in no
// list, missing are removed topics that are in a list.
func (d Done) Reverse(l Lists) (extra, missing []string) {
	all := l.All()
	missing = slices.DeleteFunc(slices.Clone(d.Removed), func(topic string) bool { return !slices.Contains(all, topic) })
	return distinct.Without(d.Added, all), missing
}

// Reader reads devices and the preferences from which their topics follow.
type Reader interface {
	// Find returns the topics of the viewer's token. found is false if the token is unknown or belongs to another login.
	Find(ctx context.Context, v notification.Viewer, token string) (l Lists, found bool, err error)
	// OfLogin returns the devices of a login.
	OfLogin(ctx context.Context, v notification.Viewer) ([]Device, error)
	// Preferences returns the active types that the laboratory has not switched off, with the login's switch.
	Preferences(ctx context.Context, v notification.Viewer) ([]notification.Preference, error)
}

// Writer changes devices. Every change of owner or topics increases the generation of the token by one.
type Writer interface {
	// Claim assigns the token to the viewer, whichever login had it, and returns its stored topics and generation. It
	// increases the generation only if the owner changes, so that concurrent subscriptions of one login do not invalidate
	// each other.
	Claim(ctx context.Context, v notification.Viewer, d Device, now time.Time) (Lists, error)
	// SaveTopics stores the topics of the viewer's token. It does not change when the device was last seen, because a
	// change of preferences is no use of the device. It returns ErrMoved if the token belongs to another login or its
	// generation differs from l's.
	SaveTopics(ctx context.Context, v notification.Viewer, token string, l Lists) error
	// Undo locks the token's row and calls undo with the changes that reverse done for the topics that the token has now.
	// If undo fails, all of these topics become pending for the token's owner; without an owner, until a sweep.
	Undo(ctx context.Context, v notification.Viewer, token string, done Done,
		undo func(extra, missing []string) error) error
	// Forget deletes the viewer's token. It returns ErrMoved if the token belongs to another login or has another
	// generation.
	Forget(ctx context.Context, v notification.Viewer, token string, generation int64) error
	// Drop deletes the viewer's token because the provider does not know it. A token of another login stays.
	Drop(ctx context.Context, v notification.Viewer, token string) error
}

// Deps are the dependencies of the use case.
type Deps struct {
	Reader Reader
	Writer Writer
	Topics Topics // nil: this installation subscribes no devices
	Names  notification.Names
	Clock  clock.Clock

	Evictor  Evictor
	Observer Observer
}

// Devices subscribes and unsubscribes devices. Its methods may be called from several goroutines.
type Devices struct {
	d   Deps
	off bool // devices cannot be subscribed
}

// ErrOff is returned if this installation sends no push messages, by configuration.
var ErrOff = apperr.New(apperr.Unimplemented, "PUSH_OFF",
	"This installation sends no push messages; ask its operator to set NOTIFICATIONS_PUSH_PROVIDER=fcm")

// New returns a use case with the dependencies d. Without Topics, Subscribe returns ErrOff.
func New(d Deps) *Devices {
	u := &Devices{d, d.Topics == nil}
	if u.off {
		u.d.Topics = Accepting{} // devices subscribed while there was a provider can still be unsubscribed
	}
	return u
}

// Outcome is the result of a subscription.
type Outcome struct {
	Topics []string // all subscribed topics
	Failed []string // rejected by the provider; the next subscription tries them again

	generation int64 // generation of the row after the subscription
}

// Subscribe subscribes the token to the topics that follow from the viewer's preferences, and unsubscribes it from all
// others, such as those of a login that had the token before. A login keeps its newest MaxDevices devices.
func (d *Devices) Subscribe(ctx context.Context, v notification.Viewer, device Device) (Outcome, error) {
	if err := check(device); err != nil {
		return Outcome{}, err
	}
	if d.off {
		return Outcome{}, ErrOff
	}
	stored, err := d.d.Writer.Claim(ctx, v, device, d.d.Clock.Now())
	if err != nil {
		return Outcome{}, err
	}
	for range attempts {
		out, err := d.subscribe(ctx, v, device.Token, stored)
		if err == nil {
			d.evict(ctx, v, device.Token)
		}
		if !errors.Is(err, ErrMoved) {
			return out, err
		}
		var mine bool
		if stored, mine, err = d.d.Reader.Find(ctx, v, device.Token); err != nil {
			return Outcome{}, err
		}
		if !mine {
			return Outcome{}, ErrMoved
		}
	}
	return Outcome{}, errBusy
}

// subscribe aligns the topics with the preferences. It reads the preferences after the lists, so that a later change of
// preferences is detected by the generation.
func (d *Devices) subscribe(ctx context.Context, v notification.Viewer, token string, stored Lists) (Outcome, error) {
	wanted, err := d.wanted(ctx, v)
	if err != nil {
		return Outcome{}, err
	}
	return d.align(ctx, v, token, stored, wanted, whenChanged)
}

// Release removes all topics of the token, for a login without topics: its browser must not show the notifications of
// the previous login.
func (d *Devices) Release(ctx context.Context, v notification.Viewer, token string) error {
	if err := check(Device{Token: token}); err != nil {
		return err
	}
	stored, err := d.d.Writer.Claim(ctx, v, Device{Token: token}, d.d.Clock.Now())
	if err != nil {
		return err
	}
	out, err := d.align(ctx, v, token, stored, nil, whenChanged)
	switch {
	case err != nil:
	case len(out.Failed) > 0:
		err = d.refused(ctx, v, token, errStuck)
	default:
		err = d.d.Writer.Forget(ctx, v, token, out.generation)
	}
	if errors.Is(err, ErrMoved) {
		return nil // another login has the token already
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

// wanted returns the topics that the viewer's devices should have.
func (d *Devices) wanted(ctx context.Context, v notification.Viewer) ([]string, error) {
	preferences, err := d.d.Reader.Preferences(ctx, v)
	return topicsOf(d.d.Names, v, preferences), err
}

// saving defines when align stores the lists before the provider adds topics.
type saving bool

const (
	// whenChanged stores the lists only if they changed. The generation then stays valid for a concurrent subscription of
	// the same login with the same topics.
	whenChanged saving = false
	// always stores the lists, which invalidates every subscription that has read the previous preferences.
	always saving = true
)

// align makes the wanted topics the topics of the token. Topics to add are stored as pending before the provider is
// called. A topic name with a previous key stays in addition to the wanted name, because a push may be on its way to
// it; package rename removes it.
func (d *Devices) align(
	ctx context.Context, v notification.Viewer, token string, stored Lists, wanted []string, s saving,
) (Outcome, error) {
	wanted = append(slices.Clone(wanted), d.d.Names.Older(v.Lab, stored.Confirmed, wanted)...)
	stored, err := d.doubt(ctx, v, token, stored, planOf(stored, wanted).remove)
	if err != nil {
		return Outcome{}, err
	}
	p := planOf(stored, wanted)
	stuck, err := d.call(ctx, token, p.remove, d.d.Topics.Unsubscribe)
	if err != nil {
		return Outcome{}, d.refused(ctx, v, token, err)
	}
	before, done := p.removed(stuck)
	if s == always || !before.Same(stored) {
		if before, err = d.save(ctx, v, token, before, done); err != nil {
			return Outcome{}, err
		}
	}
	if len(p.add) == 0 {
		return outcome(before, stuck), nil
	}
	return d.add(ctx, v, token, p, before, stuck)
}

// add subscribes the pending topics of the plan and confirms them.
func (d *Devices) add(
	ctx context.Context, v notification.Viewer, token string, p plan, before Lists, stuck []string,
) (Outcome, error) {
	failed, err := d.call(ctx, token, p.add, d.d.Topics.Subscribe)
	if err != nil {
		return Outcome{}, d.refused(ctx, v, token, err)
	}
	after, done := p.added(stuck, failed)
	after.Generation = before.Generation
	if after, err = d.save(ctx, v, token, after, done); err != nil {
		return Outcome{}, err
	}
	return outcome(after, append(failed, stuck...)), nil
}

// doubt makes topics pending before they are unsubscribed. If the process crashes after the provider's response, the
// next subscription that wants them adds them again.
func (d *Devices) doubt(
	ctx context.Context, v notification.Viewer, token string, l Lists, topics []string,
) (Lists, error) {
	if len(distinct.Without(l.Confirmed, topics)) == len(l.Confirmed) {
		return l, nil // none of the topics is confirmed
	}
	return d.save(ctx, v, token, l.InDoubt(topics), Done{})
}

// save stores the lists and returns them with the new generation. If the token has moved, it reverses done at the
// provider and returns ErrMoved.
func (d *Devices) save(
	ctx context.Context, v notification.Viewer, token string, l Lists, done Done,
) (Lists, error) {
	err := d.d.Writer.SaveTopics(ctx, v, token, l)
	l.Generation++
	if !errors.Is(err, ErrMoved) || done.empty() {
		return l, err
	}
	failed := d.d.Writer.Undo(ctx, v, token, done, func(extra, missing []string) error {
		return errors.Join(
			d.all(ctx, token, extra, d.d.Topics.Unsubscribe), d.all(ctx, token, missing, d.d.Topics.Subscribe),
		)
	})
	if failed != nil {
		return l, failed
	}
	return l, err
}

// all calls do for the topics and returns an error if one failed. An unknown token has no topics and is not an error.
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

func outcome(l Lists, failed []string) Outcome {
	return Outcome{Topics: slices.Sorted(slices.Values(l.Confirmed)), Failed: failed, generation: l.Generation}
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

// refused returns the error of a failed call. It deletes a token that the provider does not know. The error states
// whether the token or the provider is at fault.
func (d *Devices) refused(ctx context.Context, v notification.Viewer, token string, err error) error {
	if !errors.Is(err, ErrUnknownToken) {
		return apperr.New(apperr.Unavailable, "PUSH_PROVIDER_DOWN", "The push provider does not answer; subscribe again in a minute").
			WithCause(err)
	}
	if err := d.d.Writer.Drop(ctx, v, token); err != nil {
		return err
	}
	return apperr.InvalidField("token", "the push provider does not know this token; get a new one and subscribe again")
}

// attempts is the maximum number of attempts if other changes of the device interfere.
const attempts = 5

var errBusy = apperr.New(
	apperr.Unavailable,
	"DEVICE_BUSY",
	"The device is being subscribed elsewhere; try again in a minute",
)

// untilSettled repeats do, up to attempts times, while it returns ErrMoved.
func untilSettled(do func() error) error {
	for range attempts {
		if err := do(); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return errBusy
}

// Resubscribe aligns the topics of all devices of a login with its preferences. It may be repeated.
func (d *Devices) Resubscribe(ctx context.Context, v notification.Viewer) error {
	return untilSettled(func() error { return d.resubscribe(ctx, v) })
}

func (d *Devices) resubscribe(ctx context.Context, v notification.Viewer) error {
	devices, err := d.d.Reader.OfLogin(ctx, v)
	if err != nil {
		return err
	}
	wanted, err := d.wanted(ctx, v)
	if err != nil {
		return err
	}
	for _, one := range devices {
		out, err := d.align(ctx, v, one.Token, one.Lists, wanted, always)
		switch {
		case apperr.Is(err, apperr.Invalid):
			continue // the provider no longer has the token
		case err != nil:
			return err
		case len(out.Failed) > 0:
			return apperr.New(apperr.Unavailable, "PUSH_PROVIDER_DOWN", "The push provider refused some topics")
		}
	}
	return nil
}

// Unsubscribe unsubscribes the viewer's token from all topics, deletes it and returns the topics that were stored.
// Because a log-out must not fail, it ignores an unknown token, and a token of another login, which keeps its topics.
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
	stored, found, err := d.d.Reader.Find(ctx, v, token)
	if err != nil || !found {
		return nil, err
	}
	topics := stored.All()
	if stored, err = d.doubt(ctx, v, token, stored, topics); err != nil {
		return nil, err
	}
	failed, err := d.call(ctx, token, topics, d.d.Topics.Unsubscribe)
	if err != nil && !errors.Is(err, ErrUnknownToken) {
		return nil, d.refused(ctx, v, token, err)
	}
	if len(failed) > 0 && err == nil {
		return nil, d.refused(ctx, v, token, errStuck)
	}
	return topics, d.d.Writer.Forget(ctx, v, token, stored.Generation)
}

// Accepting is the provider of a deployment without push credentials: every call succeeds. Topics are stored only; the
// task queue's development page shows the push messages.
type Accepting struct{}

var _ Topics = (*Accepting)(nil)

func (Accepting) Subscribe(context.Context, string, []string) ([]string, error) { return nil, nil }

func (Accepting) Unsubscribe(context.Context, string, []string) ([]string, error) { return nil, nil }
