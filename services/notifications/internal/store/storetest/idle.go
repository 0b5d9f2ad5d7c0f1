package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

func idle(t *testing.T, s Store) {
	asha, liya, ctx := user(t, 12, 77), user(t, 13, 87), t.Context()
	cutoff := start.Add(5 * time.Minute)
	claim := func(token string, when time.Time) {
		t.Helper()
		_, err := s.Claim(ctx, asha, device.Device{Token: token}, when)
		must(t, err)
		must(
			t,
			s.SaveTopics(ctx, asha, token, device.Lists{Confirmed: []string{"a"}, Pending: []string{"b"}, Generation: 1}, when),
		)
	}
	claim("old", start)
	claim("older", start.Add(-time.Minute))
	claim("as old", start)
	claim("in use", cutoff)
	found := func(after sweep.Position, limit int) (tokens []string, last sweep.Position) {
		t.Helper()
		list, err := s.Idle(ctx, cutoff, after, limit)
		must(t, err)
		for _, d := range list {
			if d.LabID != 12 {
				t.Errorf("%+v", d)
			}
			tokens, last = append(tokens, d.Token), d.Position
		}
		return tokens, last
	}
	first, last := found(sweep.Position{}, 2)
	rest, _ := found(last, 2)
	if !slices.Equal(append(first, rest...), []string{"older", "old", "as old"}) {
		t.Fatal(first, rest)
	}
	var topics []string
	var away error
	unsubscribe := func(list []string) error { topics = list; return away }
	for name, no := range map[string]func() (bool, error){
		"suspect of another laboratory": func() (bool, error) { return s.Suspect(ctx, liya.Lab, "old", cutoff) },
		"suspect in use":                func() (bool, error) { return s.Suspect(ctx, asha.Lab, "in use", cutoff) },
		"retire of another laboratory":  func() (bool, error) { return s.Retire(ctx, liya.Lab, "old", cutoff, unsubscribe) },
		"retire in use":                 func() (bool, error) { return s.Retire(ctx, asha.Lab, "in use", cutoff, unsubscribe) },
		"retire unknown":                func() (bool, error) { return s.Retire(ctx, asha.Lab, "?", cutoff, unsubscribe) },
	} {
		if done, err := no(); done || err != nil || topics != nil {
			t.Errorf("%s: %v, %v, unsubscribed %v", name, done, err, topics)
		}
	}
	if done, err := s.Suspect(ctx, asha.Lab, "old", cutoff); !done || err != nil {
		t.Fatal(done, err)
	}
	if l, _, err := s.Find(
		ctx,
		asha,
		"old",
	); err != nil || len(l.Confirmed) != 0 ||
		!slices.Equal(l.Pending, []string{"a", "b"}) {
		t.Fatalf("%+v, %v", l, err)
	}
	away = errors.New("502")
	if done, err := s.Retire(ctx, asha.Lab, "old", cutoff, unsubscribe); done || err == nil {
		t.Fatal("a provider that is away, and the device is forgotten", err)
	}
	away, topics = nil, nil
	if done, err := s.Retire(
		ctx,
		asha.Lab,
		"old",
		cutoff,
		unsubscribe,
	); !done || err != nil ||
		!slices.Equal(topics, []string{"a", "b"}) {
		t.Fatal(done, err, topics)
	}
	if _, there, err := s.Find(ctx, asha, "old"); there || err != nil {
		t.Fatal("it is there still", err)
	}
}
