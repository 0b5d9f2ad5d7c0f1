// Package storetest is the suite that every store of notifications passes.
package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

// Store is what the suite tests. It holds the two types of the interface document, and of the platform's users 77 and
// the administrator 79 of laboratory 12, and 87 of laboratory 13.
type Store interface {
	inbox.Store
	live.Store
	preference.Store
	notify.Store
	device.Store
	sweep.Store
	// Events returns the messages in the outbox, in order.
	Events() []outbox.Event
}

var (
	start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	all   = notification.Window{From: start.Add(-24 * time.Hour).Unix(), To: start.Add(24 * time.Hour).Unix()}
)

func viewer(t testing.TB, p authn.Principal) notification.Viewer {
	t.Helper()
	p.Kind = authn.Session
	v, err := notification.ViewerOf(p)
	must(t, err)
	return v
}

func user(t testing.TB, lab, id int64) notification.Viewer {
	t.Helper()
	return viewer(
		t,
		authn.Principal{SessionType: authn.LabUser, LabID: lab, LabUserID: id, FullName: "Asha R", Username: "asha"},
	)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Run tests the stores that open makes, a fresh one for each test.
func Run(t *testing.T, open func(*testing.T) Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Store){
		"who sees what":                              audiences,
		"pages are stable":                           pages,
		"what comes after a position":                after,
		"the first reading counts":                   reading,
		"readers at once leave one activity":         readers,
		"many readers leave the newest activities":   manyReaders,
		"everything is marked read in steps":         markAll,
		"the same key is the same notification":      dedupe,
		"what comes at once is stored once, each":    together,
		"a message that cannot be made adds nothing": broken,
		"switches of laboratory and user":            switches,
		"logins of one organisation are apart":       wards,
		"a token follows its login":                  handOver,
		"what moved meanwhile is undone":             undone,
		"logins of one organisation read apart":      ownReaders,
		"devices of a user":                          devices,
		"idle devices are suspected, then retired":   idle,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func event(id int64) (outbox.Event, error) {
	return outbox.Event{Aggregate: fmt.Sprint("notification:", id), Kind: "taskqueue.push", Payload: []byte("x")}, nil
}

func add(t *testing.T, s Store, lab authn.LabScope, n notify.New, at time.Time) int64 {
	t.Helper()
	n.TypeID, n.Message = 2, notification.Message{Title: "Critical report", Data: []byte(`{"lrr_id":7001}`)}
	n.Context = []byte(`{"lab_id":12}`)
	id, _, err := s.Add(t.Context(), lab, n, event, at)
	must(t, err)
	return id
}

func ids(t *testing.T, s Store, v notification.Viewer, w notification.Window, p inbox.Page) []int64 {
	t.Helper()
	list, err := s.List(t.Context(), v, w, p)
	must(t, err)
	var found []int64
	for _, n := range list {
		found = append(found, n.ID)
	}
	return found
}

var everything = inbox.Page{Limit: 100}

func audiences(t *testing.T, s Store) {
	asha, liya := user(t, 12, 77), user(t, 13, 87)
	org := add(t, s, asha.Lab, notify.New{OrgID: 45}, start)
	doctor := add(t, s, asha.Lab, notify.New{DoctorID: 301}, start)
	own := add(t, s, asha.Lab, notify.New{LabUserID: 9001}, start)
	other := add(t, s, liya.Lab, notify.New{OrgID: 45}, start)
	for name, c := range map[string]struct {
		v    notification.Viewer
		want []int64
	}{
		"a lab user":           {asha, []int64{own, doctor, org}},
		"another laboratory":   {liya, []int64{other}},
		"the organization":     {viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45}), []int64{org}},
		"another organization": {viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 46}), nil},
		"the doctor":           {viewer(t, authn.Principal{SessionType: authn.Doctor, LabID: 12, DoctorID: 301}), []int64{doctor}},
		"support":              {viewer(t, authn.Principal{SessionType: authn.Support, LabID: 12, LabUserID: 9001}), []int64{own}},
		"a collection centre":  {viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 21}), nil},
	} {
		if got := ids(t, s, c.v, all, everything); !slices.Equal(got, c.want) {
			t.Errorf("%s sees %v, want %v", name, got, c.want)
		}
		for _, id := range []int64{org, doctor, own, other} {
			_, err := s.Mark(t.Context(), c.v, id, notification.Unread, start)
			if visible := slices.Contains(
				c.want,
				id,
			); visible != (err == nil) ||
				(!visible && !errors.Is(err, notification.ErrNotFound)) {
				t.Errorf("%s marks %d: %v", name, id, err)
			}
		}
	}
}

func pages(t *testing.T, s Store) {
	v := user(t, 12, 77)
	var want []int64
	for i := range 5 {
		want = append([]int64{add(t, s, v.Lab, notify.New{}, start.Add(time.Duration(i/2)*time.Second))}, want...)
	}
	var got []int64
	for offset := 0; offset < 6; offset += 2 {
		got = append(got, ids(t, s, v, all, inbox.Page{Offset: offset, Limit: 2})...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages %v, want %v", got, want)
	}
	second := start.Add(time.Second).Unix()
	if got := ids(t, s, v, notification.Window{From: second, To: second}, everything); !slices.Equal(got, want[1:3]) {
		t.Errorf("one second: %v, want %v", got, want[1:3])
	}
}

func unread(t *testing.T, s Store, v notification.Viewer, want int64) {
	t.Helper()
	if n, err := s.Unread(t.Context(), v, all, 100); err != nil || n != want {
		t.Fatalf("unread %d, %v, want %d", n, err, want)
	}
}

func reading(t *testing.T, s Store) {
	v, colleague := user(t, 12, 77), user(t, 12, 79)
	id := add(t, s, v.Lab, notify.New{}, start)
	unread(t, s, v, 1)
	first, err := s.Mark(t.Context(), v, id, notification.Read, start)
	must(t, err)
	again, err := s.Mark(t.Context(), v, id, notification.Read, start.Add(time.Hour))
	must(t, err)
	if first == nil || again == nil || *first != start.Unix() || *again != *first {
		t.Fatalf("read %v, then %v", first, again)
	}
	unread(t, s, v, 0)
	unread(t, s, colleague, 1)
	cleared, err := s.Mark(t.Context(), v, id, notification.Unread, start.Add(time.Minute))
	if err != nil || cleared != nil {
		t.Fatalf("%v, %v", cleared, err)
	}
	activities, err := s.ActivitiesOf(t.Context(), v.Lab, []int64{id, 999}, 10)
	must(t, err)
	want := []notification.Activity{
		{NotificationID: id, Activity: "read", UserID: 77, UserName: "Asha R", Username: "asha", At: start.Unix()},
		{
			NotificationID: id,
			Activity:       "unread",
			UserID:         77,
			UserName:       "Asha R",
			Username:       "asha",
			At:             start.Add(time.Minute).Unix(),
		},
	}
	for i := range activities[id] {
		activities[id][i].ID = 0
	}
	if diff := cmp.Diff(map[int64][]notification.Activity{id: want}, activities); diff != "" {
		t.Error(diff)
	}
	list, err := s.Activities(t.Context(), colleague, all, 1)
	if err != nil || len(list) != 1 || list[0].Activity != "unread" {
		t.Errorf("the newest of the laboratory: %v, %v", list, err)
	}
	if list, err := s.Activities(t.Context(), user(t, 13, 87), all, 9); err != nil || len(list) != 0 {
		t.Errorf("another laboratory: %v, %v", list, err)
	}
}

func readers(t *testing.T, s Store) {
	v, ctx := user(t, 12, 77), t.Context()
	id := add(t, s, v.Lab, notify.New{}, start)
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			if _, err := s.Mark(ctx, v, id, notification.Read, start.Add(time.Duration(i)*time.Second)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	activities, err := s.ActivitiesOf(ctx, v.Lab, []int64{id}, 10)
	if err != nil || len(activities[id]) != 1 {
		t.Errorf("%v, %v", activities, err)
	}
}

// manyReaders: one reads a second, the last five in the same one.
func manyReaders(t *testing.T, s Store) {
	lab := user(t, 12, 77).Lab
	many, one := add(t, s, lab, notify.New{}, start), add(t, s, lab, notify.New{}, start)
	for i := range 20 {
		at := start.Add(time.Duration(min(i, 15)) * time.Second)
		_, err := s.Mark(t.Context(), user(t, 12, int64(100+i)), many, notification.Read, at)
		must(t, err)
	}
	_, err := s.Mark(t.Context(), user(t, 12, 77), one, notification.Read, start)
	must(t, err)
	for most, want := range map[int]string{
		1: "[119] [77]", 3: "[117 118 119] [77]", 7: "[113 114 115 116 117 118 119] [77]",
	} {
		found, err := s.ActivitiesOf(t.Context(), lab, []int64{many, one}, most)
		must(t, err)
		users := map[int64][]int64{}
		for id, list := range found {
			for _, a := range list {
				users[id] = append(users[id], a.UserID)
			}
		}
		if got := fmt.Sprint(users[many], users[one]); got != want {
			t.Errorf("the newest %d: %s, want %s", most, got, want)
		}
	}
	found, err := s.ActivitiesOf(t.Context(), user(t, 13, 87).Lab, []int64{many, one}, 9)
	if err != nil || len(found) != 0 {
		t.Errorf("another laboratory: %v, %v", found, err)
	}
}

func markAll(t *testing.T, s Store) {
	v := user(t, 12, 77)
	for range 5 {
		add(t, s, v.Lab, notify.New{}, start)
	}
	for _, want := range []int{3, 2, 0} {
		if n, err := s.MarkRead(t.Context(), v, all, 3, start); err != nil || n != want {
			t.Fatalf("marked %d, %v, want %d", n, err, want)
		}
	}
	unread(t, s, v, 0)
}

func dedupe(t *testing.T, s Store) {
	v, ctx := user(t, 12, 77), t.Context()
	found := make([]int64, 16)
	var wait sync.WaitGroup
	for i := range found {
		wait.Go(func() {
			id, _, err := s.Add(ctx, v.Lab, notify.New{TypeID: 2, Context: []byte("{}"), DedupeKey: "k"}, event, start)
			if err != nil {
				t.Error(err)
			}
			found[i] = id
		})
	}
	wait.Wait()
	if slices.Sort(found); found[0] == 0 || found[0] != found[15] {
		t.Errorf("ids %v", found)
	}
	if n := len(s.Events()); n != 1 {
		t.Errorf("%d messages of one notification", n)
	}
}

// together: triggers of two laboratories come at once, some of them twice, and one of them cannot be sent.
func together(t *testing.T, s Store) {
	const different = 20
	labs := map[int64]notification.Viewer{12: user(t, 12, 77), 13: user(t, 13, 87)}
	unable := errors.New("unable")
	var wait sync.WaitGroup
	for lab, v := range labs {
		for i := range 3 * different {
			wait.Go(func() {
				n := notify.New{TypeID: 2, Context: []byte("{}"), DedupeKey: fmt.Sprint(lab, i%different)}
				push := event
				if n.DedupeKey == "12 7" {
					push = func(int64) (outbox.Event, error) { return outbox.Event{}, unable }
				}
				if _, _, err := s.Add(t.Context(), v.Lab, n, push, start); err != nil && n.DedupeKey != "12 7" {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	for lab, want := range map[int64]int{12: different - 1, 13: different} {
		if n := len(ids(t, s, labs[lab], all, everything)); n != want {
			t.Errorf("laboratory %d has %d notifications, want %d", lab, n, want)
		}
	}
	if n := len(s.Events()); n != 2*different-1 {
		t.Errorf("%d messages", n)
	}
}

func broken(t *testing.T, s Store) {
	v, unable := user(t, 12, 77), errors.New("unable")
	_, added, err := s.Add(t.Context(), v.Lab, notify.New{TypeID: 2, Context: []byte("{}")},
		func(int64) (outbox.Event, error) { return outbox.Event{}, unable }, start)
	if added && err == nil || !errors.Is(err, unable) || len(ids(t, s, v, all, everything)) != 0 || len(s.Events()) != 0 {
		t.Fatalf("added %v, %v", added, err)
	}
}

func switches(t *testing.T, s Store) {
	v, ctx := user(t, 12, 77), t.Context()
	wanted := func() (list []int64) {
		kinds, err := s.Wanted(ctx, v)
		must(t, err)
		for _, k := range kinds {
			list = append(list, k.ID)
		}
		return list
	}
	if got := wanted(); !slices.Equal(got, []int64{1, 2}) {
		t.Fatalf("at first: %v", got)
	}
	after, _ := event(1)
	must(t, s.SetPreferences(ctx, v, []notification.Switch{{TypeID: 1, Disabled: true}}, after, start))
	must(
		t,
		s.SetPreferences(
			ctx,
			v,
			[]notification.Switch{{TypeID: 1, Disabled: true}, {TypeID: 2, Disabled: false}},
			after,
			start,
		),
	)
	if got := wanted(); !slices.Equal(got, []int64{2}) || len(s.Events()) != 2 {
		t.Fatalf("without type 1: %v, %d messages", got, len(s.Events()))
	}
	must(t, s.SetKinds(ctx, v.Lab, []notification.Switch{{TypeID: 2, Disabled: true}}, 79, start))
	if got := wanted(); len(got) != 0 {
		t.Fatalf("the laboratory's switch is above the user's: %v", got)
	}
	if k, err := s.Kind(ctx, v.Lab, 2); err != nil || !k.Disabled {
		t.Errorf("%+v, %v", k, err)
	}
	if k, err := s.Kind(ctx, user(t, 13, 87).Lab, 2); err != nil || k.Disabled {
		t.Errorf("another laboratory: %+v, %v", k, err)
	}
	if _, err := s.Kind(ctx, v.Lab, 999); !errors.Is(err, notification.ErrNoType) {
		t.Error(err)
	}
	for id, want := range map[int64][2]bool{77: {true, false}, 79: {true, true}, 87: {}, 999: {}} {
		if exists, admin, err := s.User(ctx, v.Lab, id); err != nil || exists != want[0] || admin != want[1] {
			t.Errorf("user %d: %v, %v, %v", id, exists, admin, err)
		}
	}
}

// wards are logins of one organisation. Each has its switches and its devices, and none is a lab user of that number.
func wards(t *testing.T, s Store) {
	ctx := t.Context()
	ward := func(name string) notification.Viewer {
		return viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 77, Username: name})
	}
	north, south, asha := ward("north"), ward("south"), user(t, 12, 77)
	after, _ := event(1)
	for range 2 {
		must(t, s.SetPreferences(ctx, north, []notification.Switch{{TypeID: 1, Disabled: true}}, after, start))
	}
	must(t, s.SetPreferences(ctx, asha, []notification.Switch{{TypeID: 2, Disabled: true}}, after, start))
	for token, v := range map[string]notification.Viewer{"N": north, "S": south, "A": asha} {
		_, err := s.Claim(ctx, v, device.Device{Token: token}, start)
		must(t, err)
	}
	for token, v := range map[string]notification.Viewer{"N": north, "S": south, "A": asha} {
		want := map[string][]int64{"N": {2}, "S": {1, 2}, "A": {1}}[token]
		kinds, err := s.Wanted(ctx, v)
		must(t, err)
		var got []int64
		for _, k := range kinds {
			got = append(got, k.ID)
		}
		devices, err := s.OfLogin(ctx, v)
		if err != nil || len(devices) != 1 || devices[0].Token != token || !slices.Equal(got, want) {
			t.Errorf("%s: types %v, want %v; devices %v, %v", token, got, want, devices, err)
		}
		other := map[string]notification.Viewer{"N": south, "S": north, "A": north}[token]
		if _, found, err := s.Find(ctx, other, token); found || err != nil {
			t.Errorf("%s is another login's, too: %v", token, err)
		}
	}
}
