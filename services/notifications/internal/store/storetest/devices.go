package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

func handOver(t *testing.T, s Store) {
	asha, boss, ctx := user(t, 12, 77), user(t, 12, 79), t.Context()
	claim := func(v notification.Viewer, want ...string) {
		t.Helper()
		got, err := s.Claim(ctx, v, device.Device{Token: "T", Platform: "web"}, start)
		if err != nil || !slices.Equal(append(got.Confirmed, got.Pending...), want) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	}
	claim(asha)
	must(
		t,
		s.SaveTopics(ctx, asha, "T", device.Lists{Confirmed: []string{"a"}, Pending: []string{"b"}, Generation: 1}, start),
	)
	claim(boss, "a", "b")
	if err := s.SaveTopics(ctx, asha, "T", device.Lists{Generation: 3}, start); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("the previous login still writes: %v", err)
	}
	if err := s.SaveTopics(ctx, boss, "T", device.Lists{Generation: 2}, start); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("a write of an earlier generation: %v", err)
	}
	centre := viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 79})
	others := map[string]notification.Viewer{
		"another laboratory": user(t, 13, 79), "the previous login": asha, "the same number in another table": centre,
	}
	for name, other := range others {
		if err := s.Forget(ctx, other, "T", 3); !errors.Is(err, device.ErrMoved) {
			t.Fatalf("%s forgets it: %v", name, err)
		}
		must(t, s.Drop(ctx, other, "T"))
		topics, found, err := s.Find(ctx, boss, "T")
		if err != nil || !found || len(topics.Confirmed) != 1 || len(topics.Pending) != 1 {
			t.Fatalf("%s forgets it: %v, %v, %v", name, topics, found, err)
		}
		if _, found, err := s.Find(ctx, other, "T"); err != nil || found {
			t.Fatalf("%s finds it: %v", name, err)
		}
	}
	if err := s.Forget(ctx, boss, "T", 2); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("forgotten in an earlier generation: %v", err)
	}
	must(t, s.Forget(ctx, boss, "T", 3))
	if _, found, err := s.Find(ctx, boss, "T"); err != nil || found {
		t.Fatalf("it is there still: %v", err)
	}
}

// undone: what was done at the provider for a token that moved is taken back, or becomes pending.
func undone(t *testing.T, s Store) {
	asha, ctx := user(t, 12, 77), t.Context()
	claimed, err := s.Claim(ctx, asha, device.Device{Token: "T"}, start)
	must(t, err)
	claimed.Confirmed, claimed.Pending = []string{"lab", "user"}, nil
	must(t, s.SaveTopics(ctx, asha, "T", claimed, start))
	done := device.Done{Added: []string{"foreign", "lab"}, Removed: []string{"user", "other"}}
	var gone, missing []string
	var away error
	undo := func(g, m []string) error {
		gone, missing = g, m
		return away
	}
	must(t, s.Undo(ctx, asha, "T", done, undo))
	if fmt.Sprint(gone, missing) != "[foreign] [user]" {
		t.Fatalf("unsubscribe %v, subscribe %v", gone, missing)
	}
	away = errors.New("502")
	must(t, s.Undo(ctx, asha, "T", done, undo))
	if l, _, err := s.Find(ctx, asha, "T"); err != nil || fmt.Sprint(l.Confirmed, l.Pending) != "[lab] [foreign user]" {
		t.Fatalf("%+v, %v", l, err)
	}
	must(t, s.Undo(ctx, asha, "gone", done, undo))
	list, err := s.Idle(ctx, start, sweep.Position{}, 10)
	if err != nil || len(list) != 1 || list[0].Token != "gone" {
		t.Fatalf("no one sweeps what no one owns: %v, %v", list, err)
	}
	away = nil
	must(t, s.Undo(ctx, asha, "gone", done, undo))
	if list, err = s.Idle(
		ctx,
		start,
		sweep.Position{},
		10,
	); err != nil || len(list) != 0 ||
		fmt.Sprint(gone) != "[foreign lab]" {
		t.Fatalf("%v, %v, unsubscribed %v", list, err, gone)
	}
}

// ownReaders: each login of an organisation reads for itself.
func ownReaders(t *testing.T, s Store) {
	ward := func(name string) notification.Viewer {
		return viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45, Username: name})
	}
	id := add(t, s, user(t, 12, 77).Lab, notify.New{OrgID: 45}, start)
	_, err := s.Mark(t.Context(), ward("ward1"), id, notification.Read, start)
	must(t, err)
	unread(t, s, ward("ward1"), 0)
	unread(t, s, ward("ward2"), 1)
	list, err := s.List(t.Context(), ward("ward2"), all, everything)
	if err != nil || list[0].ReadOn != nil {
		t.Fatalf("%+v, %v", list, err)
	}
}

func devices(t *testing.T, s Store) {
	asha, ctx := user(t, 12, 77), t.Context()
	doctor := viewer(t, authn.Principal{SessionType: authn.Doctor, LabID: 12, DoctorID: 77})
	centre := viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 77})
	support := viewer(t, authn.Principal{SessionType: authn.Support, LabID: 12, LabUserID: 77})
	for token, v := range map[string]notification.Viewer{
		"A": asha, "B": asha, "C": user(t, 12, 79), "D": doctor, "E": centre, "F": support,
	} {
		_, err := s.Claim(ctx, v, device.Device{Token: token}, start)
		must(t, err)
		lists := device.Lists{Confirmed: []string{"x"}, Generation: 1}
		must(t, s.SaveTopics(context.WithoutCancel(ctx), v, token, lists, start))
	}
	list, err := s.OfLogin(ctx, asha)
	must(t, err)
	if diff := cmp.Diff(
		[]device.Device{
			{Token: "A", Lists: device.Lists{Confirmed: []string{"x"}, Generation: 2}},
			{Token: "B", Lists: device.Lists{Confirmed: []string{"x"}, Generation: 2}},
		},
		byToken(list),
	); diff != "" {
		t.Error(diff)
	}
}

func byToken(list []device.Device) []device.Device {
	slices.SortFunc(list, func(a, b device.Device) int {
		if a.Token < b.Token {
			return -1
		}
		return 1
	})
	return list
}
