package mysql_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

var errUnable = errors.New("unable")

func unable(int64) (outbox.Event, error) { return outbox.Event{}, errUnable }

func TestOneKeyIsOneNotification(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v, ctx := user(t, 12, 77), t.Context()
	found := make([]int64, 16)
	var wait sync.WaitGroup
	for i := range found {
		wait.Go(func() {
			n := notify.New{TypeID: 2, Context: []byte("{}"), DedupeKey: "k"}
			a, err := s.Add(ctx, v.Lab, n, event, start)
			if err != nil {
				t.Error(err)
			}
			found[i] = a.ID
		})
	}
	wait.Wait()
	if slices.Sort(found); found[0] == 0 || found[0] != found[15] {
		t.Errorf("concurrent triggers with one key got ids %v, want one id", found)
	}
	if n := len(s.Events()); n != 1 {
		t.Errorf("%d messages of one notification, want 1", n)
	}
}

// TestConcurrentTriggersAreStoredOnceEach sends triggers of two laboratories concurrently, each of them three times.
// One of them cannot be stored; all others must be stored once.
func TestConcurrentTriggersAreStoredOnceEach(t *testing.T) {
	t.Parallel()
	const different = 20
	s := storetest.Open(t)
	labs := map[int64]notification.Viewer{12: user(t, 12, 77), 13: user(t, 13, 87)}
	var wait sync.WaitGroup
	for lab, v := range labs {
		for i := range 3 * different {
			wait.Go(func() {
				n := notify.New{TypeID: 2, Context: []byte("{}"), DedupeKey: fmt.Sprint(lab, i%different)}
				push := event
				if n.DedupeKey == "12 7" {
					push = unable
				}
				if _, err := s.Add(t.Context(), v.Lab, n, push, start); err != nil && n.DedupeKey != "12 7" {
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
		t.Errorf("%d messages in the outbox, want %d", n, 2*different-1)
	}
}

func TestAMessageThatCannotBeMadeAddsNothing(t *testing.T) {
	t.Parallel()
	s, v := storetest.Open(t), user(t, 12, 77)
	_, err := s.Add(t.Context(), v.Lab, notify.New{TypeID: 2, Context: []byte("{}")}, unable, start)
	if !errors.Is(err, errUnable) {
		t.Errorf("add: %v, want %v", err, errUnable)
	}
	if list, events := ids(t, s, v, all, everything), s.Events(); len(list) != 0 || len(events) != 0 {
		t.Errorf("notifications %v, messages %v; want none", list, events)
	}
}
