package device_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
)

// provider keeps what tokens are really subscribed to.
type provider struct {
	topics map[string][]string
	refuse string // a topic that always fails
	err    error  // of every call
}

func (p *provider) Subscribe(_ context.Context, token string, topics []string) (failed []string, err error) {
	return p.each(topics, func(topic string) {
		if !slices.Contains(p.topics[token], topic) { // subscribing twice is subscribing once
			p.topics[token] = append(p.topics[token], topic)
		}
	})
}

func (p *provider) Unsubscribe(_ context.Context, token string, topics []string) (failed []string, err error) {
	return p.each(topics, func(topic string) {
		p.topics[token] = slices.DeleteFunc(p.topics[token], func(t string) bool { return t == topic })
	})
}

func (p *provider) each(topics []string, do func(string)) (failed []string, err error) {
	if p.err != nil {
		return nil, p.err
	}
	for _, topic := range topics {
		if topic == p.refuse {
			failed = append(failed, topic)
			continue
		}
		do(topic)
	}
	return failed, nil
}

func (p *provider) of(token string) []string { return slices.Sorted(slices.Values(p.topics[token])) }

var errDied = errors.New("the process died")

// crashing dies before its call number at, counted over the store and the provider.
type crashing struct {
	device.Store
	provider *provider
	calls    *int
	at       int
}

func (c crashing) die() bool {
	*c.calls++
	return *c.calls >= c.at
}

func (c crashing) Claim(ctx context.Context, v notification.Viewer, d device.Device, now time.Time) (device.Lists, error) {
	if c.die() {
		return device.Lists{}, errDied
	}
	return c.Store.Claim(ctx, v, d, now)
}

func (c crashing) SaveTopics(ctx context.Context, v notification.Viewer, token string, l device.Lists, now time.Time) error {
	if c.die() {
		return errDied
	}
	return c.Store.SaveTopics(ctx, v, token, l, now)
}

func (c crashing) Forget(ctx context.Context, v notification.Viewer, token string, generation int64) error {
	if c.die() {
		return errDied
	}
	return c.Store.Forget(ctx, v, token, generation)
}

func (c crashing) Subscribe(ctx context.Context, token string, topics []string) ([]string, error) {
	if c.die() {
		return nil, errDied
	}
	return c.provider.Subscribe(ctx, token, topics)
}

func (c crashing) Unsubscribe(ctx context.Context, token string, topics []string) ([]string, error) {
	if c.die() {
		return nil, errDied
	}
	return c.provider.Unsubscribe(ctx, token, topics)
}

func viewer(t *testing.T, p authn.Principal) notification.Viewer {
	t.Helper()
	p.Kind, p.LabID = authn.Session, 12
	v, err := notification.ViewerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func asha(t *testing.T) notification.Viewer {
	return viewer(t, authn.Principal{SessionType: authn.LabUser, LabUserID: 77})
}

func organization(t *testing.T) notification.Viewer {
	return viewer(t, authn.Principal{SessionType: authn.Organization, OrgID: 45})
}

var (
	ofAsha = []string{"IN_notification_type_1_lab_12", "IN_notification_type_1_user_77", "IN_notification_type_2_lab_12", "IN_notification_type_2_user_77"}
	ofOrg  = []string{"IN_notification_type_1_org_45", "IN_notification_type_2_org_45"}
)

func expect(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestATokenThatChangesItsLoginLosesTheFormerTopics(t *testing.T) {
	t.Parallel()
	p := &provider{topics: map[string][]string{}}
	d := device.New(memory.New(), p, "IN", clock.System{})
	for _, c := range []struct {
		v    notification.Viewer
		want []string
	}{{asha(t), ofAsha}, {asha(t), ofAsha}, {organization(t), ofOrg}} {
		out, err := d.Subscribe(t.Context(), c.v, device.Device{Token: "T"})
		if err != nil || len(out.Failed) != 0 {
			t.Fatal(out, err)
		}
		expect(t, out.Topics, c.want)
		expect(t, p.of("T"), c.want)
	}
	if topics, err := d.Unsubscribe(t.Context(), asha(t), "T"); err != nil || len(topics) != 0 {
		t.Fatal("the previous login unsubscribes", topics, err)
	}
	expect(t, p.of("T"), ofOrg)
	topics, err := d.Unsubscribe(t.Context(), organization(t), "T")
	if err != nil || len(p.of("T")) != 0 {
		t.Fatal(err, p.of("T"))
	}
	expect(t, topics, ofOrg)
}

// Whatever step the process dies before: a topic that the provider has is in the stored list, and subscribing again
// leaves exactly what is wanted.
func TestTheStoredTopicsCoverTheProvidersAfterADeath(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		store, p, calls := memory.New(), &provider{topics: map[string][]string{}}, 0
		healthy := device.New(store, p, "IN", clock.System{})
		if _, err := healthy.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); err != nil {
			t.Fatal(err)
		}
		c := crashing{store, p, &calls, at}
		_, err := device.New(c, c, "IN", clock.System{}).Subscribe(t.Context(), organization(t), device.Device{Token: "T"})
		stored, found, findErr := store.Find(t.Context(), organization(t), "T")
		if !found { // it died before the hand-over
			stored, found, findErr = store.Find(t.Context(), asha(t), "T")
		}
		if findErr != nil || !found {
			t.Fatalf("step %d: %v", at, findErr)
		}
		for _, topic := range stored.Confirmed {
			if !slices.Contains(p.of("T"), topic) && !slices.Contains(ofAsha, topic) {
				t.Fatalf("step %d: %s is confirmed and the provider does not have it", at, topic)
			}
		}
		for _, topic := range p.of("T") {
			if !slices.Contains(append(slices.Clone(stored.Confirmed), stored.Pending...), topic) {
				t.Fatalf("step %d: the provider has %s, stored is %v", at, topic, stored)
			}
		}
		if _, err := healthy.Subscribe(t.Context(), organization(t), device.Device{Token: "T"}); err != nil {
			t.Fatal(err)
		}
		expect(t, p.of("T"), ofOrg)
		if err == nil {
			if at < 4 {
				t.Fatalf("only %d steps", at)
			}
			return
		}
	}
}

func TestTopicsThatTheProviderRefusesAreToldAndTriedAgain(t *testing.T) {
	t.Parallel()
	store, p := memory.New(), &provider{topics: map[string][]string{}, refuse: ofAsha[1]}
	d := device.New(store, p, "IN", clock.System{})
	out, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"})
	if err != nil || !slices.Equal(out.Failed, ofAsha[1:2]) || len(out.Topics) != 3 {
		t.Fatalf("%+v, %v", out, err)
	}
	p.refuse = ""
	out, err = d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"})
	if err != nil || len(out.Failed) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	expect(t, out.Topics, ofAsha)
	expect(t, p.of("T"), ofAsha)
}

func TestAProviderThatIsAwayAndOneThatDoesNotKnowTheToken(t *testing.T) {
	t.Parallel()
	store, p := memory.New(), &provider{topics: map[string][]string{}, err: errors.New("502")}
	d := device.New(store, p, "IN", clock.System{})
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !apperr.Is(err, apperr.Unavailable) {
		t.Fatalf("away: %v", err)
	}
	p.err = fmt.Errorf("404: %w", device.ErrUnknownToken)
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !apperr.Is(err, apperr.Invalid) {
		t.Fatalf("unknown: %v", err)
	}
	if _, found, err := store.Find(t.Context(), asha(t), "T"); err != nil || found {
		t.Fatalf("an unknown token is kept: %v", err)
	}
}

func TestPreferencesReachAllDevicesOfAUser(t *testing.T) {
	t.Parallel()
	store, p := memory.New(), &provider{topics: map[string][]string{}}
	d := device.New(store, p, "IN", clock.System{})
	for _, token := range []string{"A", "B"} {
		if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: token}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.SetPreferences(t.Context(), asha(t), []notification.Switch{{TypeID: 1, Disabled: true}}, outbox.Event{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repetition changes nothing
		if err := d.Resubscribe(t.Context(), asha(t)); err != nil {
			t.Fatal(err)
		}
		expect(t, p.of("A"), ofAsha[2:])
		expect(t, p.of("B"), ofAsha[2:])
	}
}

func TestWithoutAProviderADeviceIsToldSo(t *testing.T) {
	t.Parallel()
	store := memory.New()
	d := device.New(store, nil, "IN", clock.System{})
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !errors.Is(err, device.ErrOff) {
		t.Errorf("subscribe: %v", err)
	}
	if _, err := d.Unsubscribe(t.Context(), asha(t), "T"); err != nil {
		t.Errorf("unsubscribe: %v", err)
	}
}

func TestBadDevicesAreRefused(t *testing.T) {
	t.Parallel()
	d := device.New(memory.New(), device.Accepting{}, "IN", clock.System{})
	for name, bad := range map[string]device.Device{
		"no token": {}, "a space": {Token: "a b"}, "not ASCII": {Token: "é"}, "too long": {Token: string(make([]byte, 513))},
		"another platform": {Token: "T", Platform: "toaster"},
	} {
		if _, err := d.Subscribe(t.Context(), asha(t), bad); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// hooked lets something happen while a call to the provider is under way: the call lands afterwards.
type hooked struct {
	*provider
	subscribing, unsubscribing func()
}

func (h *hooked) Subscribe(ctx context.Context, token string, topics []string) ([]string, error) {
	if f := h.subscribing; f != nil {
		h.subscribing = nil
		f()
	}
	return h.provider.Subscribe(ctx, token, topics)
}

func (h *hooked) Unsubscribe(ctx context.Context, token string, topics []string) ([]string, error) {
	if f := h.unsubscribing; f != nil {
		h.unsubscribing = nil
		f()
	}
	return h.provider.Unsubscribe(ctx, token, topics)
}

func subscribe(t *testing.T, d *device.Devices, v notification.Viewer) {
	t.Helper()
	if _, err := d.Subscribe(t.Context(), v, device.Device{Token: "T"}); err != nil {
		t.Fatal(err)
	}
}

// TestAHandOverWhileSubscribingLeavesNoForeignTopic: asha's call is at the provider, an organisation logs in on the same
// browser, then asha's call lands.
func TestAHandOverWhileSubscribingLeavesNoForeignTopic(t *testing.T) {
	t.Parallel()
	p := &hooked{provider: &provider{topics: map[string][]string{}}}
	d := device.New(memory.New(), p, "IN", clock.System{})
	p.subscribing = func() { subscribe(t, d, organization(t)) }
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !errors.Is(err, device.ErrMoved) {
		t.Fatal(err)
	}
	expect(t, p.of("T"), ofOrg)
}

// TestALogOutInAnotherTabWhileSubscribingLeavesNothing.
func TestALogOutInAnotherTabWhileSubscribingLeavesNothing(t *testing.T) {
	t.Parallel()
	store, p := memory.New(), &hooked{provider: &provider{topics: map[string][]string{}}}
	d := device.New(store, p, "IN", clock.System{})
	p.subscribing = func() {
		if _, err := d.Unsubscribe(t.Context(), asha(t), "T"); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !errors.Is(err, device.ErrMoved) {
		t.Fatal(err)
	}
	if _, found, err := store.Find(t.Context(), asha(t), "T"); len(p.of("T")) != 0 || found || err != nil {
		t.Fatal(p.of("T"), found, err)
	}
}

// TestALateUnsubscriptionTakesNothingFromTheNextLogin: asha takes the browser from the organisation, which comes back before
// the end of its topics has reached the provider.
func TestALateUnsubscriptionTakesNothingFromTheNextLogin(t *testing.T) {
	t.Parallel()
	p := &hooked{provider: &provider{topics: map[string][]string{}}}
	d := device.New(memory.New(), p, "IN", clock.System{})
	subscribe(t, d, organization(t))
	p.unsubscribing = func() { subscribe(t, d, organization(t)) }
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !errors.Is(err, device.ErrMoved) {
		t.Fatal(err)
	}
	expect(t, p.of("T"), ofOrg)
}

// TestABrowserOfAnOutsideLoginShowsNothingOfTheFormerOne: asha leaves without logging out, and someone of a collection
// centre with her number logs in on the same browser. While the provider is unavailable they are told so; afterwards nothing is
// left.
func TestABrowserOfAnOutsideLoginShowsNothingOfTheFormerOne(t *testing.T) {
	t.Parallel()
	store, p := memory.New(), &provider{topics: map[string][]string{}}
	d := device.New(store, p, "IN", clock.System{})
	subscribe(t, d, asha(t))
	centre := viewer(t, authn.Principal{SessionType: authn.CollectionCenter, CCID: 77})
	p.err = errors.New("away")
	if err := d.Release(t.Context(), centre, "T"); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("while the provider is away: %v", err)
	}
	p.err = nil
	for range 2 { // of a token that no one has, too
		if err := d.Release(t.Context(), centre, "T"); err != nil {
			t.Fatal(err)
		}
		if _, found, err := store.Find(t.Context(), centre, "T"); len(p.of("T")) != 0 || found || err != nil {
			t.Fatal(p.of("T"), found, err)
		}
	}
	subscribe(t, d, asha(t))
	expect(t, p.of("T"), ofAsha)
}

// TestASwitchWhileSubscribingIsNotLost: the user switches a type off while another tab subscribes with the old preferences.
func TestASwitchWhileSubscribingIsNotLost(t *testing.T) {
	t.Parallel()
	store, p := memory.New(), &hooked{provider: &provider{topics: map[string][]string{}}}
	d := device.New(store, p, "IN", clock.System{})
	p.subscribing = func() {
		off := []notification.Switch{{TypeID: 1, Disabled: true}}
		if err := store.SetPreferences(t.Context(), asha(t), off, outbox.Event{}, time.Time{}); err != nil {
			t.Error(err)
		}
		if err := d.Resubscribe(t.Context(), asha(t)); err != nil {
			t.Error(err)
		}
	}
	_, _ = d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"})
	expect(t, p.of("T"), ofAsha[2:])
}

// TestAMandatoryTypeIsOnWhateverTheSwitchesSay.
func TestAMandatoryTypeIsOnWhateverTheSwitchesSay(t *testing.T) {
	t.Parallel()
	store, p := memory.New(), &provider{topics: map[string][]string{}}
	store.Types[1].Mandatory = true
	off := []notification.Switch{{TypeID: 2, Disabled: true}}
	if err := store.SetKinds(t.Context(), asha(t).Lab, off, 79, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := store.SetPreferences(t.Context(), asha(t), off, outbox.Event{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	subscribe(t, device.New(store, p, "IN", clock.System{}), asha(t))
	expect(t, p.of("T"), ofAsha)
}
