package rename_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/rename"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// provider is a fake of the push provider. It stores the topics of each token.
type provider struct {
	topics map[string][]string
	err    map[string]error // error by token
	refuse string           // topic that always fails
}

func (p *provider) Subscribe(_ context.Context, token string, topics []string) (failed []string, err error) {
	for _, topic := range topics {
		if topic == p.refuse {
			failed = append(failed, topic)
		} else if p.err[token] == nil && !slices.Contains(p.topics[token], topic) {
			p.topics[token] = append(p.topics[token], topic)
		}
	}
	return failed, p.err[token]
}

func (p *provider) Unsubscribe(_ context.Context, token string, topics []string) ([]string, error) {
	if p.err[token] == nil {
		p.topics[token] = slices.DeleteFunc(p.topics[token], func(t string) bool { return slices.Contains(topics, t) })
	}
	return nil, p.err[token]
}

// arrivals returns, for each token, how often a push to the topics arrives.
func (p *provider) arrivals(topics []string) map[string]int {
	counts := map[string]int{}
	for token, has := range p.topics {
		for _, topic := range topics {
			if slices.Contains(has, topic) {
				counts[token]++
			}
		}
	}
	return counts
}

var (
	oldKey = []byte("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk")
	newKey = []byte("nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn")
)

// fixture is a platform whose processes may have different keys.
type fixture struct {
	*storetest.Database
	*provider

	t      *testing.T
	behind int
}

func open(t *testing.T) *fixture {
	t.Helper()
	return &fixture{storetest.Open(t), &provider{topics: map[string][]string{}, err: map[string]error{}}, t, -1}
}

func (f *fixture) Behind(n int) { f.behind = n }

// process returns the names of a process with the given keys, in the form of the setting.
func (*fixture) process(keys string) notification.Names {
	var list [][]byte
	for _, key := range strings.Fields(keys) {
		list = append(list, map[string][]byte{
			"unkeyed": []byte(notification.Unkeyed), "old": oldKey, "new": newKey,
		}[key])
	}
	return notification.NewNames("IN", list)
}

func (f *fixture) subscribe(names notification.Names, v notification.Viewer, token string) {
	f.t.Helper()
	d := device.New(device.Deps{
		Reader: f.Database, Writer: f.Database, Topics: f.provider, Names: names, Clock: f.Clock, Evictor: f.Database,
		Observer: storetest.Uncounted{},
	})
	token = strings.ReplaceAll(token, " ", "-")
	if _, err := d.Subscribe(f.t.Context(), v, device.Device{Token: token}); err != nil {
		f.t.Fatal(err)
	}
}

// subscribeAs100 subscribes as a process of version 1.0.0, which removes names with a key as unwanted topics.
func (f *fixture) subscribeAs100(v notification.Viewer, token string) {
	f.t.Helper()
	f.subscribe(f.process("unkeyed"), v, token)
	keyed := slices.DeleteFunc(slices.Clone(f.topics[token]), func(topic string) bool {
		return len(topic) < len("IN_notification_type_")+32
	})
	f.topics[token] = slices.DeleteFunc(f.topics[token], func(t string) bool { return slices.Contains(keyed, t) })
	err := f.Change(f.t.Context(), v.Lab, token, func(l device.Lists) (device.Lists, error) {
		l.Confirmed, l.Pending = slices.Sorted(slices.Values(f.topics[token])), nil
		return l, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) renamer(s rename.Store, names notification.Names) *rename.Renamer {
	return rename.New(rename.Deps{Store: s, Topics: f.provider, Names: names, Clock: f.Clock, Gauge: f})
}

// passes makes a process that started two hours ago run passes until nothing changes.
func (f *fixture) passes(names notification.Names) {
	f.t.Helper()
	r := f.renamer(f.Database, names)
	f.Clock.Advance(2 * time.Hour)
	for f.behind = -1; f.behind != 0; {
		if err := r.RunOnce(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
}

// push returns the topics to which a process sends a critical result of the laboratory.
func (f *fixture) push(names notification.Names) []string {
	f.t.Helper()
	lab := asha(f.t).Lab
	known := names.Known(lab, notification.CriticalReport, notification.Ref{Kind: notification.RefLab, ID: 12})
	devices, err := f.Subscribed(f.t.Context(), lab, known)
	if err != nil {
		f.t.Fatal(err)
	}
	return notification.Choose(known, devices.Topics)
}

func asha(t *testing.T) notification.Viewer {
	t.Helper()
	return storetest.User(t, 12, 77)
}

// TestNoPushIsLostOrDoubledWhileNamesChange goes through the rollouts in the documented order. In each, old and new
// processes subscribe devices and send push messages concurrently, while one of them renames. Every push arrives once
// at every device that existed when it was sent, even if it is delivered after all other steps.
func TestNoPushIsLostOrDoubledWhileNamesChange(t *testing.T) {
	t.Parallel()
	for _, rollouts := range [][]string{
		{"unkeyed", "unkeyed old", "old unkeyed", "old"}, // the upgrade from version 1.0.0
		{"old", "old new", "new old", "new"},
	} {
		f := open(t)
		for i := range 3 {
			f.subscribe(f.process(rollouts[0]), asha(t), fmt.Sprint("device-", i))
		}
		for i := range rollouts[1:] {
			f.rollout(rollouts[i], rollouts[i+1])
		}
		for token, topics := range f.topics {
			if want := f.process(rollouts[3]).Current(asha(t).Lab, topics); len(topics) != 4 || len(want) != 4 {
				t.Errorf("%v: %s has %v, want the four names of the last key", rollouts, token, topics)
			}
		}
	}
}

// rollout replaces the processes one by one.
func (f *fixture) rollout(from, to string) {
	f.t.Helper()
	before, after := f.process(from), f.process(to)
	var sent [][]string // topics of the messages that are delivered at the end
	devices := []string{}
	push := func() {
		f.t.Helper()
		for name, process := range map[string]notification.Names{from: before, to: after} {
			topics := f.push(process)
			f.arrives(from+" to "+to+", sent by "+name, topics, slices.Concat(devices, f.tokens()))
			sent = append(sent, topics)
		}
	}
	devices = f.tokens()
	push()
	r := f.renamer(f.Database, after)
	f.subscribe(after, asha(f.t), "new at "+to)
	push()
	if from == "unkeyed" {
		f.subscribeAs100(asha(f.t), "device-1")
	} else {
		f.subscribe(before, asha(f.t), "device-1")
	}
	push()
	f.subscribe(before, asha(f.t), "new at "+from+" before "+to)
	push()
	if err := r.RunOnce(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	push()
	if from == "unkeyed" {
		f.subscribeAs100(asha(f.t), "device-2")
		push()
	}
	for _, topics := range sent {
		f.arrives(from+" to "+to+", delivered late", topics, devices)
	}
	f.passes(after) // the old processes have ended
}

func (f *fixture) tokens() (tokens []string) {
	for token := range f.topics {
		tokens = append(tokens, token)
	}
	return tokens
}

func (f *fixture) arrives(when string, topics, tokens []string) {
	f.t.Helper()
	counts := f.arrivals(topics)
	for _, token := range tokens {
		if counts[token] != 1 {
			f.t.Errorf("%s: a push to %v arrives %d times at %s, which has %v; want once", when, topics, counts[token], token,
				f.topics[token])
		}
	}
}

// TestAnUpgradeInOneStepLosesNothing sets only the new key. Devices move, and all of them keep getting messages. A name
// is removed an hour after the start of the process.
func TestAnUpgradeInOneStepLosesNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	names := f.process("old")
	for _, token := range []string{"A", "B"} {
		f.subscribe(f.process("unkeyed"), asha(t), token)
	}
	r := f.renamer(f.Database, names)
	f.err["B"] = errors.New("502")
	for range 3 {
		if err := r.RunOnce(t.Context()); err == nil {
			t.Error("the provider fails for one device: no error, want it")
		}
		f.arrives("one device is behind", f.push(names), []string{"A", "B"})
		if f.behind != 2 || len(f.topics["A"]) != 8 {
			t.Errorf("%d are behind, A has %v; want 2, and all names", f.behind, f.topics["A"])
		}
	}
	delete(f.err, "B")
	f.passes(names)
	f.arrives("all devices moved", f.push(names), []string{"A", "B"})
	if topics := names.Current(asha(t).Lab, f.topics["B"]); len(topics) != 4 || len(f.topics["B"]) != 4 {
		t.Errorf("B has %v, want four names with the key", f.topics["B"])
	}
}

// TestARefusedOrUnknownDeviceDelaysNoOther uses a provider that rejects a topic and does not know a token. All other
// devices must be renamed.
func TestARefusedOrUnknownDeviceDelaysNoOther(t *testing.T) {
	t.Parallel()
	f := open(t)
	names := f.process("old")
	for _, token := range []string{"gone", "fine"} {
		f.subscribe(f.process("unkeyed"), asha(t), token)
	}
	f.err["gone"] = fmt.Errorf("404: %w", device.ErrUnknownToken)
	f.refuse = names.Of(asha(t).Lab, 1, notification.Ref{Kind: notification.RefLab, ID: 12})[0]
	r := f.renamer(f.Database, names)
	f.Clock.Advance(2 * time.Hour)
	for range 2 {
		if err := r.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, found, err := f.Find(t.Context(), asha(t), "gone"); found || err != nil {
		t.Errorf("an unknown token is found: %v, %v; want it deleted", found, err)
	}
	f.arrives("a topic is refused", f.push(names), []string{"fine"})
	if slices.Contains(f.topics["fine"], f.refuse) || !slices.Contains(f.topics["fine"], "IN_notification_type_1_lab_12") {
		t.Errorf("the device has %v, want the older name of the refused topic", f.topics["fine"])
	}
	f.refuse = ""
	f.passes(names)
	if len(f.topics["fine"]) != 4 {
		t.Errorf("the device has %v, want the current names alone", f.topics["fine"])
	}
}

// TestACrashLosesNoName aborts a pass before each of its statements and after each commit. The device must still get
// messages, and the stored names must agree with the provider's.
func TestACrashLosesNoName(t *testing.T) {
	t.Parallel()
	var f *fixture
	setUp := func() string {
		f = open(t)
		f.subscribe(f.process("unkeyed"), asha(t), "T")
		return f.DSN
	}
	names := f.process("old")
	run := func(db *sql.DB) error {
		store := f.Over(db)
		r := f.renamer(store, names)
		f.Clock.Advance(2 * time.Hour)
		return errors.Join(r.RunOnce(t.Context()), r.RunOnce(t.Context()))
	}
	crashes := crashdb.Each(t, setUp, run, func(at crashdb.Crash, _ error) {
		f.arrives(fmt.Sprint("the process ", at), f.push(names), []string{"T"})
		lists, _, err := f.Find(t.Context(), asha(t), "T")
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range f.topics["T"] {
			if !slices.Contains(lists.All(), topic) {
				t.Errorf("the process %s: the provider has %s, want it stored", at, topic)
			}
		}
		for _, topic := range lists.Confirmed {
			if !slices.Contains(f.topics["T"], topic) {
				t.Errorf("the process %s: %s is confirmed, want it at the provider", at, topic)
			}
		}
		f.passes(names)
		if len(f.topics["T"]) != 4 {
			t.Errorf("the process %s: the device has %v in the end, want four names", at, f.topics["T"])
		}
	})
	if len(crashes) < 8 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}

// TestAnotherLaboratorysNamesAreOthers checks that organizations with equal ids in two laboratories have different
// topic names.
func TestAnotherLaboratorysNamesAreOthers(t *testing.T) {
	t.Parallel()
	f := open(t)
	for token, lab := range map[string]int64{"A": 12, "B": 13} {
		v := storetest.Viewer(t, authn.Principal{SessionType: authn.Organization, LabID: lab, OrgID: 45})
		f.subscribe(f.process("old"), v, token)
	}
	for _, topic := range f.topics["A"] {
		if slices.Contains(f.topics["B"], topic) {
			t.Errorf("both laboratories have %s, want other names in each", topic)
		}
	}
}
