package device_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// evicted counts evictions by outcome.
type evicted struct {
	mu     sync.Mutex
	counts map[device.Eviction]int // guarded by mu
}

func (e *evicted) Evicted(o device.Eviction) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[o]++
}

// telephones models a login that gets a new telephone every hour. Its provider may be called from several goroutines.
type telephones struct {
	*storetest.Database
	*device.Devices
	*evicted

	t *testing.T
	p *provider
}

func withTelephones(t *testing.T, n int) *telephones {
	t.Helper()
	x := &telephones{Database: storetest.Open(t), evicted: &evicted{counts: map[device.Eviction]int{}}, t: t, p: newProvider()}
	x.Devices = x.over(x.Database)
	for i := range n {
		x.take(x.Devices, asha(t), fmt.Sprint("phone-", i))
	}
	return x
}

func (x *telephones) over(s store) *device.Devices {
	return device.New(device.Deps{
		Reader: s, Writer: s, Topics: &serial{p: x.p}, Names: storetest.Names, Clock: x.Clock, Evictor: s, Observer: x.evicted,
	})
}

// take subscribes a telephone an hour after the previous one.
func (x *telephones) take(d *device.Devices, v notification.Viewer, token string) {
	x.t.Helper()
	x.Clock.Advance(time.Hour)
	if _, err := d.Subscribe(x.t.Context(), v, device.Device{Token: token}); err != nil {
		x.t.Fatal(err)
	}
}

// ring returns how many devices of asha a critical result reaches. It fails if the row of a device does not agree with
// the provider.
func (x *telephones) ring() (n int) {
	x.t.Helper()
	stored := map[string]bool{}
	for _, login := range []notification.Viewer{asha(x.t), organization(x.t)} {
		devices, err := x.OfLogin(x.t.Context(), login)
		if err != nil {
			x.t.Fatal(err)
		}
		for _, one := range devices {
			stored[one.Token] = true
			if missing := distinct.Without(one.Confirmed, x.p.of(one.Token)); len(missing) > 0 {
				x.t.Errorf("%s lacks %v, want what is confirmed", one.Token, missing)
			}
		}
	}
	for token, topics := range x.p.topics {
		if len(topics) > 0 {
			if n++; !stored[token] {
				x.t.Errorf("%s is subscribed and has no row, want it unsubscribed", token)
			}
		}
	}
	return n
}

// serial serializes the calls of the provider.
type serial struct {
	mu sync.Mutex
	p  *provider
}

func (s *serial) Subscribe(ctx context.Context, token string, topics []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p.Subscribe(ctx, token, topics)
}

func (s *serial) Unsubscribe(ctx context.Context, token string, topics []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p.Unsubscribe(ctx, token, topics)
}

// refusing fails to unsubscribe.
type refusing struct{ serial }

func (*refusing) Unsubscribe(context.Context, string, []string) ([]string, error) {
	return nil, errors.New("502")
}

// returning runs a function after the topics of a device became pending.
type returning struct {
	*storetest.Database

	then func()
}

func (r *returning) Suspect(ctx context.Context, lab authn.LabScope, token string, before time.Time) (bool, error) {
	gone, err := r.Database.Suspect(ctx, lab, token, before)
	r.then()
	return gone, err
}

func TestTheTwentyFirstDeviceReplacesTheOneSeenLongestAgo(t *testing.T) {
	t.Parallel()
	x := withTelephones(t, device.MaxDevices)
	x.take(x.Devices, asha(t), "phone-0") // seen again, so that phone-1 is the oldest
	if x.ring() != device.MaxDevices || len(x.counts) != 0 {
		t.Errorf("%d devices ring, %v; want 20, and none given up", x.ring(), x.counts)
	}
	x.take(x.Devices, asha(t), "new")
	expect(t, x.p.of("new"), ofAsha)
	expect(t, x.p.of("phone-0"), ofAsha)
	expect(t, x.p.of("phone-1"), nil)
	if x.ring() != device.MaxDevices || x.counts[device.Evicted] != 1 {
		t.Errorf("%d devices ring, %v; want 20, and one given up", x.ring(), x.counts)
	}
	x.take(x.Devices, organization(t), "ward") // another login has its own limit
	if x.counts[device.Evicted] != 1 || x.ring() != device.MaxDevices+1 {
		t.Errorf("%d devices ring, %v; want those of asha and the ward's", x.ring(), x.counts)
	}
}

// A change of preferences subscribes every device again, but must not count as use of a device.
func TestAChangeOfPreferencesMakesNoDeviceOlder(t *testing.T) {
	t.Parallel()
	x := withTelephones(t, device.MaxDevices)
	x.take(x.Devices, asha(t), "phone-0") // the one that is used every day
	x.Clock.Advance(time.Hour)
	if err := x.Resubscribe(t.Context(), asha(t)); err != nil {
		t.Fatal(err)
	}
	x.take(x.Devices, asha(t), "new")
	expect(t, x.p.of("phone-0"), ofAsha)
	expect(t, x.p.of("phone-1"), nil)
}

func TestAFailingProviderKeepsTheOldDeviceAndSubscribesTheNewOne(t *testing.T) {
	t.Parallel()
	x := withTelephones(t, device.MaxDevices)
	failing := &refusing{serial: serial{p: x.p}}
	d := device.New(device.Deps{
		Reader: x.Database, Writer: x.Database, Topics: failing, Names: storetest.Names, Clock: x.Clock, Evictor: x.Database,
		Observer: x.evicted,
	})
	x.take(d, asha(t), "new")
	expect(t, x.p.of("new"), ofAsha)
	if x.ring() != device.MaxDevices+1 || x.counts[device.Failed] != 1 {
		t.Errorf("%d devices ring, %v; want 21 until the provider answers", x.ring(), x.counts)
	}
	x.take(x.Devices, asha(t), "new")
	if x.ring() != device.MaxDevices || x.counts[device.Evicted] != 1 {
		t.Errorf("%d devices ring, %v; want 20 again", x.ring(), x.counts)
	}
}

// TestADeviceThatReturnsWhileItIsGivenUpStays subscribes the oldest device again while it is being evicted, after its
// topics became pending. The device must stay.
func TestADeviceThatReturnsWhileItIsGivenUpStays(t *testing.T) {
	t.Parallel()
	x := withTelephones(t, device.MaxDevices)
	d := x.over(&returning{Database: x.Database, then: func() { x.take(x.Devices, asha(t), "phone-0") }})
	x.take(d, asha(t), "new")
	expect(t, x.p.of("phone-0"), ofAsha)
	expect(t, x.p.of("new"), ofAsha)
	if x.ring() != device.MaxDevices || x.counts[device.Returned] != 1 {
		t.Errorf("%d devices ring, %v; want 20, and phone-0 among them", x.ring(), x.counts)
	}
}

// TestTwoNewDevicesAtOnceBothRing subscribes two new devices of a login concurrently, many times. Both must get
// messages.
func TestTwoNewDevicesAtOnceBothRing(t *testing.T) {
	t.Parallel()
	x := withTelephones(t, device.MaxDevices)
	for round := range 10 {
		x.Clock.Advance(time.Hour)
		tokens := []string{fmt.Sprint("left-", round), fmt.Sprint("right-", round)}
		errs := make([]error, len(tokens))
		var both sync.WaitGroup
		for i, token := range tokens {
			both.Go(func() { _, errs[i] = x.Subscribe(t.Context(), asha(t), device.Device{Token: token}) })
		}
		both.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for _, token := range tokens {
			expect(t, x.p.of(token), ofAsha)
		}
	}
	x.take(x.Devices, asha(t), "last")
	if got := x.ring(); got != device.MaxDevices {
		t.Errorf("%d devices ring, want 20", got)
	}
}

// TestACrashWhileADeviceIsGivenUpLosesNoOther aborts an eviction before each statement. Afterwards, the new device gets
// messages once it has subscribed again, and no device is subscribed without a row.
func TestACrashWhileADeviceIsGivenUpLosesNoOther(t *testing.T) {
	t.Parallel()
	var x *telephones
	open := func() string {
		x = withTelephones(t, device.MaxDevices)
		return x.DSN
	}
	run := func(pool *sql.DB) error {
		x.Clock.Advance(time.Hour)
		_, err := x.over(x.Over(pool)).Subscribe(t.Context(), asha(t), device.Device{Token: "new"})
		return err
	}
	crashes := crashdb.Each(t, open, run, func(at crashdb.Crash, _ error) {
		x.ring() // compares rows with the provider
		x.take(x.Devices, asha(t), "new")
		expect(t, x.p.of("new"), ofAsha)
		expect(t, x.p.of("phone-0"), nil)
		if got := x.ring(); got != device.MaxDevices {
			t.Errorf("the process %s: %d devices ring, want 20", at, got)
		}
	})
	if len(crashes) < 8 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}
