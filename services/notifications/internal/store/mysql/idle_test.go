package mysql_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

var cutoff = start.Add(5 * time.Minute)

// idleDevices stores three devices that are idle at the cutoff and one in use.
func idleDevices(t *testing.T) *storetest.Database {
	t.Helper()
	s, asha := storetest.Open(t), user(t, 12, 77)
	for _, d := range []struct {
		token string
		last  time.Time
	}{{"old", start}, {"older", start.Add(-time.Minute)}, {"as old", start}, {"in use", cutoff}} {
		_, err := s.Claim(t.Context(), asha, device.Device{Token: d.token}, d.last)
		must(t, err)
		lists := device.Lists{Confirmed: []string{"a"}, Pending: []string{"b"}, Generation: 1}
		must(t, s.SaveTopics(t.Context(), asha, d.token, lists))
	}
	return s
}

func TestIdleDevicesAreListedInPagesLongestIdleFirst(t *testing.T) {
	t.Parallel()
	s := idleDevices(t)
	var got []string
	after := sweep.Position{}
	for range 2 {
		list, err := s.Idle(t.Context(), cutoff, after, 2)
		must(t, err)
		for _, d := range list {
			if d.LabID != 12 {
				t.Errorf("%+v, want laboratory 12", d)
			}
			got, after = append(got, d.Token), d.Position
		}
	}
	if want := []string{"older", "old", "as old"}; !slices.Equal(got, want) {
		t.Errorf("idle devices %q, want %q", got, want)
	}
}

func TestOnlyIdleDevicesOfTheLaboratoryAreChanged(t *testing.T) {
	t.Parallel()
	s, ctx := idleDevices(t), t.Context()
	asha, liya := user(t, 12, 77).Lab, user(t, 13, 87).Lab
	unsubscribe := func(topics []string) error {
		t.Errorf("unsubscribed %v, want no call of the provider", topics)
		return nil
	}
	for name, change := range map[string]func() (bool, error){
		"suspect of another laboratory": func() (bool, error) { return s.Suspect(ctx, liya, "old", cutoff) },
		"suspect in use":                func() (bool, error) { return s.Suspect(ctx, asha, "in use", cutoff) },
		"retire of another laboratory":  func() (bool, error) { return s.Retire(ctx, liya, "old", cutoff, unsubscribe) },
		"retire in use":                 func() (bool, error) { return s.Retire(ctx, asha, "in use", cutoff, unsubscribe) },
		"retire unknown":                func() (bool, error) { return s.Retire(ctx, asha, "?", cutoff, unsubscribe) },
	} {
		if done, err := change(); done || err != nil {
			t.Errorf("%s: %v, %v; want false", name, done, err)
		}
	}
}

func TestAnIdleDeviceIsSuspectedThenRetired(t *testing.T) {
	t.Parallel()
	s, asha, ctx := idleDevices(t), user(t, 12, 77), t.Context()
	if done, err := s.Suspect(ctx, asha.Lab, "old", cutoff); !done || err != nil {
		t.Fatalf("suspect: %v, %v; want true", done, err)
	}
	l, _, err := s.Find(ctx, asha, "old")
	if err != nil || len(l.Confirmed) != 0 || !slices.Equal(l.Pending, []string{"a", "b"}) {
		t.Fatalf("after suspect: %+v, %v; want both topics pending", l, err)
	}
	unavailable := errors.New("502")
	done, err := s.Retire(ctx, asha.Lab, "old", cutoff, func([]string) error { return unavailable })
	if done || !errors.Is(err, unavailable) {
		t.Fatalf("retire while the provider is unavailable: %v, %v; want its error", done, err)
	}
	var topics []string
	done, err = s.Retire(ctx, asha.Lab, "old", cutoff, func(list []string) error { topics = list; return nil })
	if !done || err != nil || !slices.Equal(topics, []string{"a", "b"}) {
		t.Fatalf("retire: %v, %v, unsubscribed %v; want both topics", done, err, topics)
	}
	if _, found, err := s.Find(ctx, asha, "old"); found || err != nil {
		t.Fatalf("a retired device is found: %v, %v", found, err)
	}
}
