package sweep_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

// provider is a fake of the push provider. It stores the topics of each token.
type provider struct {
	topics map[string][]string
	err    map[string]error // error by token
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

// fixture contains the loop with its own database.
type fixture struct {
	*storetest.Database
	*provider

	t      *testing.T
	counts counts
}

func open(t *testing.T) *fixture {
	t.Helper()
	p := &provider{topics: map[string][]string{}, err: map[string]error{}}
	return &fixture{storetest.Open(t), p, t, counts{}}
}

// subscribe subscribes a token of lab user asha, days days ago.
func (f *fixture) subscribe(token string, days int) {
	f.t.Helper()
	d := device.New(device.Deps{
		Reader: f.Database, Writer: f.Database, Topics: f.provider, Names: storetest.Names,
		Clock: clock.Fixed(storetest.Start.AddDate(0, 0, -days)), Evictor: f.Database, Observer: storetest.Uncounted{},
	})
	if _, err := d.Subscribe(f.t.Context(), storetest.User(f.t, 12, 77), device.Device{Token: token}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) sweeper(s sweep.Store) *sweep.Sweeper {
	return sweep.New(sweep.Deps{
		Config: sweep.Config{IdleDays: 270}, Store: s, Topics: f.provider, Clock: f.Clock, Counters: f.counts,
	})
}

func (f *fixture) stored(token string) bool {
	f.t.Helper()
	_, found, err := f.Find(f.t.Context(), storetest.User(f.t, 12, 77), token)
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

func TestIdleDevicesAreUnsubscribedAndForgotten(t *testing.T) {
	t.Parallel()
	f := open(t)
	for token, days := range map[string]int{"used": 269, "idle": 271, "failing": 272, "unknown": 300} {
		f.subscribe(token, days)
	}
	f.err["unknown"], f.err["failing"] = fmt.Errorf("404: %w", device.ErrUnknownToken), errors.New("502")
	s := f.sweeper(f.Database)
	if err := s.RunOnce(t.Context()); err == nil {
		t.Error("a pass with an unavailable provider: no error, want one")
	}
	for token, want := range map[string]bool{"used": true, "idle": false, "failing": true, "unknown": false} {
		if got := f.stored(token); got != want {
			t.Errorf("%s is stored: %v, want %v", token, got, want)
		}
	}
	if idle, used := f.topics["idle"], f.topics["used"]; len(idle) != 0 || len(used) != 4 {
		t.Errorf("the provider has %v of the idle device and %v of the used one, want none and 4", idle, used)
	}
	if f.counts[sweep.Forgotten] != 2 || f.counts[sweep.Failed] != 1 {
		t.Errorf("counted %v, want 2 forgotten and 1 failed", f.counts)
	}
	delete(f.err, "failing")
	if err := s.RunOnce(t.Context()); err != nil || f.stored("failing") {
		t.Errorf("the next pass: %v, want the failed device forgotten", err)
	}
}

// TestWithoutAProviderIdleDevicesAreForgotten sweeps a device that was subscribed while a provider was configured. It
// must be deleted.
func TestWithoutAProviderIdleDevicesAreForgotten(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.subscribe("idle", 271)
	s := sweep.New(sweep.Deps{Config: sweep.Config{IdleDays: 270}, Store: f.Database, Clock: f.Clock, Counters: f.counts})
	if err := s.RunOnce(t.Context()); err != nil || f.stored("idle") {
		t.Errorf("a pass: %v, the device is stored: %v; want it forgotten", err, f.stored("idle"))
	}
}

// TestFailingDevicesDelayNoOthers uses a full batch of failing devices, and one idle device after them, which must be
// deleted.
func TestFailingDevicesDelayNoOthers(t *testing.T) {
	t.Parallel()
	f := open(t)
	const failing = 200
	f.subscribe("idle", 300)
	f.Exec("INSERT INTO FcmDevices (token, lab_id, user_type, lab_user_id, topics, last_activity, created_at) SELECT" +
		" CONCAT('failing-', seq), 12, 'lab_user', 77, '[\"a\"]', 1, 1 FROM " + mysqltest.Numbers(failing))
	for i := range failing {
		f.err[fmt.Sprint("failing-", i+1)] = errors.New("502")
	}
	s := f.sweeper(f.Database)
	for range 2 {
		_ = s.RunOnce(t.Context()) // returns the failures of 200 devices
	}
	if f.stored("idle") || f.counts[sweep.Failed] != failing {
		t.Fatalf("after two passes: idle device stored %v, counted %v; want it forgotten and %d failed",
			f.stored("idle"), f.counts, failing)
	}
	if _ = s.RunOnce(t.Context()); f.counts[sweep.Failed] != 2*failing {
		t.Fatalf("counted %v, want the third pass to begin with the failed devices", f.counts)
	}
}

// TestADeviceThatReturnsAfterACrashGetsAllItsTopics aborts a pass before each of its statements. A device that
// subscribes afterwards has all its topics, and the next pass keeps it.
func TestADeviceThatReturnsAfterACrashGetsAllItsTopics(t *testing.T) {
	t.Parallel()
	var f *fixture
	open := func() string {
		f = open(t)
		f.subscribe("T", 300)
		return f.DSN
	}
	run := func(db *sql.DB) error { return f.sweeper(f.Over(db)).RunOnce(t.Context()) }
	crashes := crashdb.Each(t, open, run, func(c crashdb.Crash, _ error) {
		f.subscribe("T", 0)
		if got := slices.Compact(slices.Sorted(slices.Values(f.topics["T"]))); len(got) != 4 {
			t.Errorf("the process %s: the provider has %v, want 4 topics", c, got)
		}
		if err := f.sweeper(f.Database).RunOnce(t.Context()); err != nil || !f.stored("T") {
			t.Errorf("the process %s; the next pass: %v, want the device kept", c, err)
		}
	})
	if f.stored("T") || len(f.topics["T"]) != 0 {
		t.Errorf("a pass without a crash: stored %v, topics %v; want the device forgotten", f.stored("T"), f.topics["T"])
	}
	if len(crashes) < 8 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}
