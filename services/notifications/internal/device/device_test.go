package device_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// provider is a fake of the push provider. It stores the topics of each token.
type provider struct {
	topics map[string][]string
	refuse string // topic that always fails
	err    error  // error of every call
}

func newProvider() *provider { return &provider{topics: map[string][]string{}} }

func (p *provider) Subscribe(_ context.Context, token string, topics []string) (failed []string, err error) {
	return p.each(topics, func(topic string) {
		if !slices.Contains(p.topics[token], topic) { // a repetition changes nothing
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

// open returns a use case over its own database. With nil topics, there is no provider.
func open(t *testing.T, topics device.Topics) (*device.Devices, *storetest.Database) {
	t.Helper()
	store := storetest.Open(t)
	return over(store, topics, store.Clock), store
}

type store interface {
	device.Reader
	device.Writer
	device.Evictor
}

func over(s store, topics device.Topics, c clock.Clock) *device.Devices {
	return device.New(device.Deps{
		Reader: s, Writer: s, Topics: topics, Names: storetest.Names, Clock: c, Evictor: s, Observer: storetest.Uncounted{},
	})
}

func asha(t *testing.T) notification.Viewer {
	t.Helper()
	return storetest.User(t, 12, 77)
}

func organization(t *testing.T) notification.Viewer {
	t.Helper()
	return storetest.Viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45})
}

var (
	ofAsha = []string{"IN_notification_type_1_lab_12", "IN_notification_type_1_user_77", "IN_notification_type_2_lab_12",
		"IN_notification_type_2_user_77"}
	ofOrg = []string{"IN_notification_type_1_org_45", "IN_notification_type_2_org_45"}
)

func expect(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("topics %v, want %v", got, want)
	}
}

func TestATokenThatChangesItsLoginLosesThePreviousTopics(t *testing.T) {
	t.Parallel()
	p := newProvider()
	d, _ := open(t, p)
	for _, c := range []struct {
		v    notification.Viewer
		want []string
	}{{asha(t), ofAsha}, {asha(t), ofAsha}, {organization(t), ofOrg}} {
		out, err := d.Subscribe(t.Context(), c.v, device.Device{Token: "T"})
		if err != nil || len(out.Failed) != 0 {
			t.Fatalf("subscribe: %+v, %v; want no failed topic", out, err)
		}
		expect(t, out.Topics, c.want)
		expect(t, p.of("T"), c.want)
	}
	if topics, err := d.Unsubscribe(t.Context(), asha(t), "T"); err != nil || len(topics) != 0 {
		t.Fatalf("the previous login unsubscribes: %v, %v; want no topic", topics, err)
	}
	expect(t, p.of("T"), ofOrg)
	topics, err := d.Unsubscribe(t.Context(), organization(t), "T")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, p.of("T"), nil)
	expect(t, topics, ofOrg)
}

func TestRefusedTopicsAreReturnedAndTriedAgain(t *testing.T) {
	t.Parallel()
	p := newProvider()
	p.refuse = ofAsha[1]
	d, _ := open(t, p)
	out, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"})
	if err != nil || !slices.Equal(out.Failed, ofAsha[1:2]) || len(out.Topics) != 3 {
		t.Fatalf("%+v, %v; want one failed topic and three subscribed", out, err)
	}
	p.refuse = ""
	out, err = d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"})
	if err != nil || len(out.Failed) != 0 {
		t.Fatalf("subscribed again: %+v, %v; want no failed topic", out, err)
	}
	expect(t, out.Topics, ofAsha)
	expect(t, p.of("T"), ofAsha)
}

func TestAnUnavailableProviderAndAnUnknownToken(t *testing.T) {
	t.Parallel()
	p := newProvider()
	p.err = errors.New("502")
	d, store := open(t, p)
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !apperr.Is(err, apperr.Unavailable) {
		t.Fatalf("an unavailable provider: %v, want Unavailable", err)
	}
	p.err = fmt.Errorf("404: %w", device.ErrUnknownToken)
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !apperr.Is(err, apperr.Invalid) {
		t.Fatalf("an unknown token: %v, want Invalid", err)
	}
	if _, found, err := store.Find(t.Context(), asha(t), "T"); err != nil || found {
		t.Fatalf("an unknown token is found: %v, %v; want it deleted", found, err)
	}
}

func TestPreferencesReachAllDevicesOfALogin(t *testing.T) {
	t.Parallel()
	p := newProvider()
	d, store := open(t, p)
	for _, token := range []string{"A", "B"} {
		if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: token}); err != nil {
			t.Fatal(err)
		}
	}
	if err := switchOff(t, store); err != nil {
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

func TestWithoutAProviderASubscriptionIsRefused(t *testing.T) {
	t.Parallel()
	d, _ := open(t, nil)
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !errors.Is(err, device.ErrOff) {
		t.Errorf("subscribe: %v, want ErrOff", err)
	}
	if _, err := d.Unsubscribe(t.Context(), asha(t), "T"); err != nil {
		t.Errorf("unsubscribe: %v, want no error", err)
	}
}

func TestInvalidDevicesAreRefused(t *testing.T) {
	t.Parallel()
	d, _ := open(t, device.Accepting{})
	for name, bad := range map[string]device.Device{
		"no token": {}, "a space": {Token: "a b"}, "not ASCII": {Token: "é"}, "too long": {Token: string(make([]byte, 513))},
		"another platform": {Token: "T", Platform: "toaster"},
	} {
		if _, err := d.Subscribe(t.Context(), asha(t), bad); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v, want it refused as invalid", name, err)
		}
	}
}

// hooked is a provider that runs a function before it executes a call.
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

// switchOff switches type 1 off for asha.
func switchOff(t *testing.T, s *storetest.Database) error {
	t.Helper()
	off := []notification.Switch{{TypeID: 1, Disabled: true}}
	return s.SetPreferences(t.Context(), asha(t), off, outbox.Event{Aggregate: "a", Kind: "k"}, storetest.Start)
}

func subscribe(t *testing.T, d *device.Devices, v notification.Viewer) {
	t.Helper()
	if _, err := d.Subscribe(t.Context(), v, device.Device{Token: "T"}); err != nil {
		t.Fatal(err)
	}
}

// TestAHandOverWhileSubscribingLeavesNoForeignTopic makes an organization log in on the same browser while asha's call
// is on its way to the provider. The token must end with the organization's topics only.
func TestAHandOverWhileSubscribingLeavesNoForeignTopic(t *testing.T) {
	t.Parallel()
	p := &hooked{provider: newProvider()}
	d, _ := open(t, p)
	p.subscribing = func() { subscribe(t, d, organization(t)) }
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("asha's subscription: %v, want ErrMoved", err)
	}
	expect(t, p.of("T"), ofOrg)
}

func TestALogOutInAnotherTabWhileSubscribingLeavesNothing(t *testing.T) {
	t.Parallel()
	p := &hooked{provider: newProvider()}
	d, store := open(t, p)
	p.subscribing = func() {
		if _, err := d.Unsubscribe(t.Context(), asha(t), "T"); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("asha's subscription: %v, want ErrMoved", err)
	}
	expect(t, p.of("T"), nil)
	if _, found, err := store.Find(t.Context(), asha(t), "T"); found || err != nil {
		t.Fatalf("the token is found after the log-out: %v, %v; want it deleted", found, err)
	}
}

// TestALateUnsubscriptionTakesNothingFromTheNextLogin makes asha log in on the browser of an organization. The
// organization logs in again before the provider has removed its topics, and must keep them.
func TestALateUnsubscriptionTakesNothingFromTheNextLogin(t *testing.T) {
	t.Parallel()
	p := &hooked{provider: newProvider()}
	d, _ := open(t, p)
	subscribe(t, d, organization(t))
	p.unsubscribing = func() { subscribe(t, d, organization(t)) }
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"}); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("asha's subscription: %v, want ErrMoved", err)
	}
	expect(t, p.of("T"), ofOrg)
}

// TestALoginWithoutTopicsReleasesTheToken makes asha leave without logging out; then a collection centre with her id
// logs in on the same browser. An unavailable provider is an error. Afterwards, the token has no topics and no owner.
func TestALoginWithoutTopicsReleasesTheToken(t *testing.T) {
	t.Parallel()
	p := newProvider()
	d, store := open(t, p)
	subscribe(t, d, asha(t))
	centre := storetest.Viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 77})
	p.err = errors.New("502")
	if err := d.Release(t.Context(), centre, "T"); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("an unavailable provider: %v, want Unavailable", err)
	}
	p.err = nil
	for range 2 { // a token without an owner is released as well
		if err := d.Release(t.Context(), centre, "T"); err != nil {
			t.Fatal(err)
		}
		expect(t, p.of("T"), nil)
		if _, found, err := store.Find(t.Context(), centre, "T"); found || err != nil {
			t.Fatalf("the released token is found: %v, %v; want it deleted", found, err)
		}
	}
	subscribe(t, d, asha(t))
	expect(t, p.of("T"), ofAsha)
}

// TestASwitchWhileSubscribingIsNotLost switches a type off while another tab subscribes with the previous preferences.
// The type must be off afterwards.
func TestASwitchWhileSubscribingIsNotLost(t *testing.T) {
	t.Parallel()
	p := &hooked{provider: newProvider()}
	d, store := open(t, p)
	p.subscribing = func() {
		if err := switchOff(t, store); err != nil {
			t.Error(err)
		}
		if err := d.Resubscribe(t.Context(), asha(t)); err != nil {
			t.Error(err)
		}
	}
	subscribe(t, d, asha(t))
	expect(t, p.of("T"), ofAsha[2:])
}

// TestASwitchBeforeTheFirstTopicIsNotLost switches a type off after a first subscription has read the preferences and
// before it stores a topic. The type must be off afterwards.
func TestASwitchBeforeTheFirstTopicIsNotLost(t *testing.T) {
	t.Parallel()
	p := newProvider()
	store := storetest.Open(t)
	s := &hookedReader{Database: store}
	d := device.New(device.Deps{
		Reader: s, Writer: store, Topics: p, Names: storetest.Names, Clock: store.Clock, Evictor: store,
		Observer: storetest.Uncounted{},
	})
	s.read = func() {
		if err := switchOff(t, store); err != nil {
			t.Error(err)
		}
		if err := d.Resubscribe(t.Context(), asha(t)); err != nil {
			t.Error(err)
		}
	}
	subscribe(t, d, asha(t))
	expect(t, p.of("T"), ofAsha[2:])
}

// hookedReader runs a function once after it has read preferences.
type hookedReader struct {
	*storetest.Database

	read func()
}

func (h *hookedReader) Preferences(
	ctx context.Context, v notification.Viewer,
) ([]notification.Preference, error) {
	list, err := h.Database.Preferences(ctx, v)
	if f := h.read; f != nil {
		h.read = nil
		f()
	}
	return list, err
}

// TestOneLoginSubscribesATokenTwiceAtOnce makes tabs of one login subscribe the same token concurrently: a new token,
// one of the same login, and one that another login had. Each tab gets all topics.
func TestOneLoginSubscribesATokenTwiceAtOnce(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*device.Devices){
		"a new token":              func(*device.Devices) {},
		"a token of the login":     func(d *device.Devices) { subscribe(t, d, asha(t)) },
		"a token of another login": func(d *device.Devices) { subscribe(t, d, organization(t)) },
	} {
		for range 5 {
			p := &shared{provider: newProvider()}
			d, store := open(t, p)
			before(d)
			var tabs sync.WaitGroup
			for range 4 {
				tabs.Go(func() {
					out, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: "T"})
					if err != nil || !slices.Equal(out.Topics, ofAsha) {
						t.Errorf("%s: %v, %v; want all topics", name, out.Topics, err)
					}
				})
			}
			tabs.Wait()
			expect(t, p.of("T"), ofAsha)
			l, _, err := store.Find(t.Context(), asha(t), "T")
			if err != nil || len(l.Confirmed) != len(ofAsha) || len(l.Pending) != 0 {
				t.Errorf("%s: %+v, %v; want every topic confirmed", name, l, err)
			}
		}
	}
}

// shared is a provider whose calls take some time. It may be called from several goroutines.
type shared struct {
	*provider

	mu sync.Mutex
}

func (s *shared) Subscribe(ctx context.Context, token string, topics []string) ([]string, error) {
	time.Sleep(rand.N(5 * time.Millisecond))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.provider.Subscribe(ctx, token, topics)
}

func (s *shared) Unsubscribe(ctx context.Context, token string, topics []string) ([]string, error) {
	time.Sleep(rand.N(5 * time.Millisecond))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.provider.Unsubscribe(ctx, token, topics)
}
