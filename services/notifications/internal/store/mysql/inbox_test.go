package mysql_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

func TestALoginSeesWhatIsAddressedToIt(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	asha, liya := user(t, 12, 77), user(t, 13, 87)
	org := s.Put(asha.Lab, notify.New{OrgID: 45}, start)
	doctor := s.Put(asha.Lab, notify.New{DoctorID: 301}, start)
	own := s.Put(asha.Lab, notify.New{LabUserID: 9001}, start)
	other := s.Put(liya.Lab, notify.New{OrgID: 45}, start)
	for name, c := range map[string]struct {
		v    notification.Viewer
		want []int64
	}{
		"a lab user":           {asha, []int64{own, doctor, org}},
		"another laboratory":   {liya, []int64{other}},
		"the organization":     {viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45}), []int64{org}},
		"another organization": {viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 46}), nil},
		"the doctor":           {viewer(t, authn.Principal{SessionType: authn.Doctor, LabID: 12, DoctorID: 301}), []int64{doctor}},
		"support":              {viewer(t, authn.Principal{SessionType: authn.Support, LabID: 12, LabUserID: 9001}), nil},
		"a collection centre":  {viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 21}), nil},
	} {
		if got := ids(t, s, c.v, all, everything); !slices.Equal(got, c.want) {
			t.Errorf("%s sees %v, want %v", name, got, c.want)
		}
		for _, id := range []int64{org, doctor, own, other} {
			_, err := s.Mark(t.Context(), c.v, id, notification.Unread, start)
			visible := slices.Contains(c.want, id)
			if visible && err != nil || !visible && !errors.Is(err, notification.ErrNotFound) {
				t.Errorf("%s marks %d: %v; visible: %v", name, id, err, visible)
			}
		}
	}
}

func TestPagesAreStable(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := user(t, 12, 77)
	var want []int64
	for i := range 5 {
		want = append([]int64{s.Put(v.Lab, notify.New{}, start.Add(time.Duration(i/2)*time.Second))}, want...)
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
		t.Errorf("a window of one second: %v, want %v", got, want[1:3])
	}
}

func TestANotificationKeepsItsFirstReading(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v, colleague := user(t, 12, 77), user(t, 12, 79)
	id := s.Put(v.Lab, notify.New{}, start)
	unread(t, s, v, 1)
	first, err := s.Mark(t.Context(), v, id, notification.Read, start)
	must(t, err)
	again, err := s.Mark(t.Context(), v, id, notification.Read, start.Add(time.Hour))
	must(t, err)
	if first == nil || again == nil || *first != start.Unix() || *again != *first {
		t.Fatalf("read on %v, then %v; want %d both times", first, again, start.Unix())
	}
	unread(t, s, v, 0)
	unread(t, s, colleague, 1)
	cleared, err := s.Mark(t.Context(), v, id, notification.Unread, start.Add(time.Minute))
	if err != nil || cleared != nil {
		t.Fatalf("marked unread: %v, %v; want no time", cleared, err)
	}
	activities, err := s.ActivitiesOf(t.Context(), v, []int64{id, 999}, 10)
	must(t, err)
	want := []notification.Activity{
		{NotificationID: id, Activity: "read", UserID: 77, UserName: "Asha R", Username: "asha", At: start.Unix()},
		{
			NotificationID: id, Activity: "unread", UserID: 77, UserName: "Asha R", Username: "asha",
			At: start.Add(time.Minute).Unix(),
		},
	}
	for i := range activities[id] {
		activities[id][i].ID = 0
	}
	if diff := cmp.Diff(map[int64][]notification.Activity{id: want}, activities); diff != "" {
		t.Errorf("activities (-want +got): %s", diff)
	}
	list, err := s.Activities(t.Context(), colleague, all, 1)
	if err != nil || len(list) != 1 || list[0].Activity != "unread" {
		t.Errorf("newest activity of the laboratory: %v, %v; want one, unread", list, err)
	}
	if list, err := s.Activities(t.Context(), user(t, 13, 87), all, 9); err != nil || len(list) != 0 {
		t.Errorf("activities of another laboratory: %v, %v; want none", list, err)
	}
}

func TestConcurrentReadersLeaveOneActivity(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v, ctx := user(t, 12, 77), t.Context()
	id := s.Put(v.Lab, notify.New{}, start)
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			if _, err := s.Mark(ctx, v, id, notification.Read, start.Add(time.Duration(i)*time.Second)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	activities, err := s.ActivitiesOf(ctx, v, []int64{id}, 10)
	if err != nil || len(activities[id]) != 1 {
		t.Errorf("activities %v, %v; want one", activities, err)
	}
}

// TestManyReadersLeaveTheNewestActivities uses one reader per second, except the last five, who read in the same
// second. The newest activities must be listed.
func TestManyReadersLeaveTheNewestActivities(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	asha := user(t, 12, 77)
	lab := asha.Lab
	many, one := s.Put(lab, notify.New{}, start), s.Put(lab, notify.New{}, start)
	for i := range 20 {
		at := start.Add(time.Duration(min(i, 15)) * time.Second)
		_, err := s.Mark(t.Context(), user(t, 12, int64(100+i)), many, notification.Read, at)
		must(t, err)
	}
	_, err := s.Mark(t.Context(), user(t, 12, 77), one, notification.Read, start)
	must(t, err)
	for limit, want := range map[int]string{
		1: "[119] [77]", 3: "[117 118 119] [77]", 7: "[113 114 115 116 117 118 119] [77]",
	} {
		found, err := s.ActivitiesOf(t.Context(), asha, []int64{many, one}, limit)
		must(t, err)
		users := map[int64][]int64{}
		for id, list := range found {
			for _, a := range list {
				users[id] = append(users[id], a.UserID)
			}
		}
		if got := fmt.Sprint(users[many], users[one]); got != want {
			t.Errorf("readers of the newest %d activities: %s, want %s", limit, got, want)
		}
	}
	found, err := s.ActivitiesOf(t.Context(), user(t, 13, 87), []int64{many, one}, 9)
	if err != nil || len(found) != 0 {
		t.Errorf("activities of another laboratory: %v, %v; want none", found, err)
	}
}

// TestOnlyLabUsersSeeWhoOfTheLaboratoryRead makes each kind of login mark one notification. One of the readers is a lab
// user with the id of the organization. Only lab users may see all readers.
func TestOnlyLabUsersSeeWhoOfTheLaboratoryRead(t *testing.T) {
	t.Parallel()
	s, ctx := storetest.Open(t), t.Context()
	asha, bina := user(t, 12, 77), user(t, 12, 45)
	ward := func(name string) notification.Viewer {
		return viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45, Username: name})
	}
	doctor := viewer(t, authn.Principal{SessionType: authn.Doctor, LabID: 12, DoctorID: 301})
	id := s.Put(asha.Lab, notify.New{OrgID: 45, DoctorID: 301}, start)
	for _, v := range []notification.Viewer{asha, bina, ward("ward1"), ward("ward2"), doctor} {
		_, err := s.Mark(ctx, v, id, notification.Read, start)
		must(t, err)
	}
	for name, c := range map[string]struct {
		v    notification.Viewer
		want string
	}{
		"a lab user":       {asha, "[77 45 45 45 301]"},
		"the organisation": {ward("ward1"), "[45 45]"},
		"the doctor":       {doctor, "[301]"},
	} {
		list, err := s.Activities(ctx, c.v, all, 9)
		must(t, err)
		slices.Reverse(list) // Activities returns the newest first, ActivitiesOf the oldest
		of, err := s.ActivitiesOf(ctx, c.v, []int64{id}, 9)
		must(t, err)
		for from, list := range map[string][]notification.Activity{"the list": list, "the notification": of[id]} {
			var users []int64
			for _, a := range list {
				users = append(users, a.UserID)
			}
			if got := fmt.Sprint(users); got != c.want {
				t.Errorf("%s sees %s in %s, want %s", name, got, from, c.want)
			}
			if c.v.Audience != notification.WholeLab && strings.Contains(fmt.Sprint(list), "Asha") {
				t.Errorf("%s sees %v in %s, want no name of the laboratory's staff", name, list, from)
			}
		}
	}
}

func TestMarkReadStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := user(t, 12, 77)
	for range 5 {
		s.Put(v.Lab, notify.New{}, start)
	}
	for _, want := range []int{3, 2, 0} {
		if n, err := s.MarkRead(t.Context(), v, all, math.MaxInt64, 3, start); err != nil || n != want {
			t.Fatalf("marked %d, %v, want %d", n, err, want)
		}
	}
	unread(t, s, v, 0)
}

func TestLoginsOfOneOrganisationReadSeparately(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ward := func(name string) notification.Viewer {
		return viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45, Username: name})
	}
	id := s.Put(user(t, 12, 77).Lab, notify.New{OrgID: 45}, start)
	_, err := s.Mark(t.Context(), ward("ward1"), id, notification.Read, start)
	must(t, err)
	unread(t, s, ward("ward1"), 0)
	unread(t, s, ward("ward2"), 1)
	list, err := s.List(t.Context(), ward("ward2"), all, everything)
	if err != nil || list[0].ReadOn != nil {
		t.Fatalf("list of the other ward: %+v, %v; want one, unread", list, err)
	}
}
