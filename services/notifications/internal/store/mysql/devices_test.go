package mysql_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

func TestATokenFollowsItsLogin(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	asha, boss, ctx := user(t, 12, 77), user(t, 12, 79), t.Context()
	claim := func(v notification.Viewer, want ...string) {
		t.Helper()
		got, err := s.Claim(ctx, v, device.Device{Token: "T", Platform: "web"}, start)
		if err != nil || !slices.Equal(append(got.Confirmed, got.Pending...), want) {
			t.Fatalf("claim: topics %v, %v; want %v", got, err, want)
		}
	}
	claim(asha)
	lists := device.Lists{Confirmed: []string{"a"}, Pending: []string{"b"}, Generation: 1}
	must(t, s.SaveTopics(ctx, asha, "T", lists))
	claim(boss, "a", "b")
	if err := s.SaveTopics(ctx, asha, "T", device.Lists{Generation: 3}); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("a write of the previous login: %v, want ErrMoved", err)
	}
	if err := s.SaveTopics(ctx, boss, "T", device.Lists{Generation: 2}); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("a write of an earlier generation: %v, want ErrMoved", err)
	}
	centre := viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 79})
	others := map[string]notification.Viewer{
		"another laboratory": user(t, 13, 79), "the previous login": asha, "the same number in another table": centre,
	}
	for name, other := range others {
		if err := s.Forget(ctx, other, "T", 3); !errors.Is(err, device.ErrMoved) {
			t.Fatalf("%s forgets the token: %v, want ErrMoved", name, err)
		}
		must(t, s.Drop(ctx, other, "T"))
		if l, found, err := s.Find(ctx, boss, "T"); err != nil || !found || fmt.Sprint(l.Confirmed, l.Pending) != "[a] [b]" {
			t.Fatalf("after %s dropped it: %v, %v, %v; want the owner's topics", name, l, found, err)
		}
		if _, found, err := s.Find(ctx, other, "T"); err != nil || found {
			t.Fatalf("%s finds the token: %v, %v", name, found, err)
		}
	}
	if err := s.Forget(ctx, boss, "T", 2); !errors.Is(err, device.ErrMoved) {
		t.Fatalf("forget an earlier generation: %v, want ErrMoved", err)
	}
	must(t, s.Forget(ctx, boss, "T", 3))
	if _, found, err := s.Find(ctx, boss, "T"); err != nil || found {
		t.Fatalf("a forgotten token is found: %v, %v", found, err)
	}
}

func TestChangesOfATokenThatMovedAreReversed(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	asha, ctx := user(t, 12, 77), t.Context()
	claimed, err := s.Claim(ctx, asha, device.Device{Token: "T"}, start)
	must(t, err)
	claimed.Confirmed = []string{"lab", "user"}
	must(t, s.SaveTopics(ctx, asha, "T", claimed))
	done := device.Done{Added: []string{"foreign", "lab"}, Removed: []string{"user", "other"}}
	reverse := func(token string, failure error, want string) {
		t.Helper()
		var got string
		must(t, s.Undo(ctx, asha, token, done, func(extra, missing []string) error {
			got = fmt.Sprint(extra, missing)
			return failure
		}))
		if got != want {
			t.Fatalf("token %s: unsubscribe and subscribe %s, want %s", token, got, want)
		}
	}
	unowned := func() []sweep.Device {
		t.Helper()
		list, err := s.Idle(ctx, start, sweep.Position{}, 10)
		must(t, err)
		return list
	}
	unavailable := errors.New("502")
	reverse("T", nil, "[foreign] [user]")
	reverse("T", unavailable, "[foreign] [user]")
	if l, _, err := s.Find(ctx, asha, "T"); err != nil || fmt.Sprint(l.Confirmed, l.Pending) != "[lab] [foreign user]" {
		t.Fatalf("after a failure: %+v, %v; want lab confirmed, foreign and user pending", l, err)
	}
	reverse("unknown", unavailable, "[foreign lab] []")
	if list := unowned(); len(list) != 1 || list[0].Token != "unknown" {
		t.Fatalf("the sweep finds %v, want the token without an owner", list)
	}
	reverse("unknown", nil, "[foreign lab] []")
	if list := unowned(); len(list) != 0 {
		t.Fatalf("the sweep finds %v, want nothing after the provider unsubscribed all", list)
	}
}

func TestDevicesOfALogin(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	asha, ctx := user(t, 12, 77), t.Context()
	doctor := viewer(t, authn.Principal{SessionType: authn.Doctor, LabID: 12, DoctorID: 77})
	centre := viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 77})
	support := viewer(t, authn.Principal{SessionType: authn.Support, LabID: 12, LabUserID: 77})
	for token, v := range map[string]notification.Viewer{
		"A": asha, "B": asha, "C": user(t, 12, 79), "D": doctor, "E": centre, "F": support,
	} {
		_, err := s.Claim(ctx, v, device.Device{Token: token}, start)
		must(t, err)
		must(t, s.SaveTopics(ctx, v, token, device.Lists{Confirmed: []string{"x"}, Generation: 1}))
	}
	list, err := s.OfLogin(ctx, asha)
	must(t, err)
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprint(d.Token, d.Lists))
	}
	if slices.Sort(got); fmt.Sprint(got) != "[A{[x] [] 2} B{[x] [] 2}]" {
		t.Errorf("devices %v, want A and B with the confirmed topic x", got)
	}
}

// TestADeviceWithoutAUserNameCanBeLoggedOut uses a row whose type does not identify the login of the organization. Any
// login of the organization must be able to delete it.
func TestADeviceWithoutAUserNameCanBeLoggedOut(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	s.Exec("INSERT INTO FcmDevices (token, lab_id, user_type, org_id, topics, last_activity, created_at)" +
		" VALUES ('T', 12, 'org', 45, '[\"a\"]', 1, 1)")
	ward := func(org int64) notification.Viewer {
		return viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: org, Username: "north"})
	}
	if _, found, err := s.Find(t.Context(), ward(46), "T"); found || err != nil {
		t.Errorf("another organisation finds it: %v, %v", found, err)
	}
	if lists, found, err := s.Find(t.Context(), ward(45), "T"); !found || err != nil || len(lists.Confirmed) != 1 {
		t.Errorf("its organisation: %v, %v, %v; want it with one topic", lists, found, err)
	}
	if err := s.Forget(t.Context(), ward(45), "T", 0); err != nil {
		t.Errorf("its organisation forgets it: %v", err)
	}
}
