package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

type fixed struct{}

func (fixed) Now() time.Time { return now }

// provider keeps who is subscribed.
type provider struct {
	topics map[string][]string
	err    map[string]error // by token
}

func (p *provider) Subscribe(_ context.Context, token string, topics []string) ([]string, error) {
	p.topics[token] = append(p.topics[token], topics...)
	return nil, p.err[token]
}

func (p *provider) Unsubscribe(_ context.Context, token string, topics []string) ([]string, error) {
	if err := p.err[token]; err != nil {
		return nil, err
	}
	p.topics[token] = slices.DeleteFunc(p.topics[token], func(t string) bool { return slices.Contains(topics, t) })
	return nil, nil
}

type counts map[sweep.Outcome]int

func (c counts) Swept(o sweep.Outcome) { c[o]++ }

func asha(t *testing.T) notification.Viewer {
	t.Helper()
	v, err := notification.ViewerOf(authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// at is a clock that stands.
type at time.Time

func (a at) Now() time.Time { return time.Time(a) }

func (p *provider) subscribe(t *testing.T, store device.Store, token string, daysAgo int) {
	t.Helper()
	d := device.New(store, p, "IN", at(now.AddDate(0, 0, -daysAgo)))
	if _, err := d.Subscribe(t.Context(), asha(t), device.Device{Token: token}); err != nil {
		t.Fatal(err)
	}
}

func (p *provider) sweeper(store sweep.Store, c counts) *sweep.Sweeper {
	return sweep.New(sweep.Deps{Config: sweep.Config{IdleDays: 270}, Store: store, Topics: p, Clock: fixed{}, Counters: c})
}

func known(t *testing.T, store device.Store, token string) bool {
	t.Helper()
	_, found, err := store.Find(t.Context(), asha(t), token)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestIdleDevicesAreUnsubscribedAndForgotten(t *testing.T) {
	t.Parallel()
	store, c := memory.New(), counts{}
	p := &provider{topics: map[string][]string{}, err: map[string]error{}}
	for token, days := range map[string]int{"used": 269, "idle": 271, "away": 272, "dead": 300} {
		p.subscribe(t, store, token, days)
	}
	p.err["dead"], p.err["away"] = fmt.Errorf("404: %w", device.ErrUnknownToken), errors.New("502")
	s := p.sweeper(store, c)
	if err := s.RunOnce(t.Context()); err == nil {
		t.Fatal("a provider that is away is no error")
	}
	if known(t, store, "idle") || known(t, store, "dead") || !known(t, store, "away") || !known(t, store, "used") {
		t.Fatal("the wrong ones are forgotten")
	}
	if len(p.topics["idle"]) != 0 || len(p.topics["used"]) != 4 || c[sweep.Forgotten] != 2 || c[sweep.Failed] != 1 {
		t.Fatal(p.topics, c)
	}
	delete(p.err, "away")
	if err := s.RunOnce(t.Context()); err != nil || known(t, store, "away") {
		t.Fatal("the next pass does not try again", err)
	}
}

func TestDevicesThatFailDoNotStandInTheWay(t *testing.T) {
	t.Parallel()
	store, c := memory.New(), counts{}
	p := &provider{topics: map[string][]string{}, err: map[string]error{}}
	const stuck = 200 // a whole pass
	for i := range stuck {
		token := fmt.Sprint("stuck-", i)
		p.subscribe(t, store, token, 400)
		p.err[token] = errors.New("502")
	}
	p.subscribe(t, store, "idle", 300)
	s := p.sweeper(store, c)
	for range 2 {
		_ = s.RunOnce(t.Context()) // the failures of 200 devices
	}
	if known(t, store, "idle") || c[sweep.Failed] != stuck {
		t.Fatal(c)
	}
	if _ = s.RunOnce(t.Context()); c[sweep.Failed] != 2*stuck {
		t.Fatalf("the third pass does not start over: %v", c)
	}
}

// crashing dies before its step number at.
type crashing struct {
	sweep.Store
	provider *provider
	steps    *int
	at       int
}

var errDied = errors.New("the process died")

func (c crashing) die() bool { *c.steps++; return *c.steps >= c.at }

func (c crashing) Suspect(ctx context.Context, lab authn.LabScope, token string, before time.Time) (bool, error) {
	if c.die() {
		return false, errDied
	}
	return c.Store.Suspect(ctx, lab, token, before)
}

func (c crashing) Retire(ctx context.Context, lab authn.LabScope, token string, before time.Time, unsubscribe func([]string) error) (bool, error) {
	if c.die() {
		return false, errDied
	}
	return c.Store.Retire(ctx, lab, token, before, func(topics []string) error {
		err := unsubscribe(topics)
		if c.die() { // after the provider's answer, before the commit
			return errDied
		}
		return err
	})
}

// Whatever step the process dies before, a device that comes back is subscribed to all its topics.
func TestADeviceThatComesBackAfterADeathGetsEverything(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		store, p, steps := memory.New(), &provider{topics: map[string][]string{}}, 0
		p.subscribe(t, store, "T", 300)
		err := p.sweeper(crashing{store, p, &steps, step}, counts{}).RunOnce(t.Context())
		p.subscribe(t, store, "T", 0)
		if got := slices.Compact(slices.Sorted(slices.Values(p.topics["T"]))); len(got) != 4 {
			t.Fatalf("step %d: the provider has %v", step, got)
		}
		if err := p.sweeper(store, counts{}).RunOnce(t.Context()); err != nil || !known(t, store, "T") {
			t.Fatalf("step %d: a device in use is forgotten: %v", step, err)
		}
		if err == nil {
			if step != 4 {
				t.Fatalf("%d steps", step)
			}
			return
		}
	}
}
