package live_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
)

// bench is one reader of one inbox, in virtual time.
type bench struct {
	t      *testing.T
	store  *memory.Store
	viewer notification.Viewer
	signal chan struct{}

	mu   sync.Mutex
	said []string // guarded by mu
}

func newBench(t *testing.T) *bench {
	t.Helper()
	v, err := notification.ViewerOf(authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, LabUserID: 77})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, store: memory.New(), viewer: v, signal: make(chan struct{}, 1)}
}

func (b *bench) Listen(context.Context, authn.LabScope) (<-chan struct{}, func(), error) {
	return b.signal, func() {}, nil
}

func (*bench) Watching(int) {}

func (b *bench) say(format string, args ...any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, fmt.Sprintf(format, args...))
	return nil
}

func (b *bench) Position(id int64) error { return b.say("at %d", id) }

func (b *bench) Notification(n notification.Notification, _ []notification.Activity) error {
	return b.say("%d", n.ID)
}

func (b *bench) Unread(n int64) error { return b.say("unread %d", n) }

// add stores a notification that was begun some time ago.
func (b *bench) add(ago time.Duration) {
	b.t.Helper()
	_, _, err := b.store.Add(b.t.Context(), b.viewer.Lab, notify.New{TypeID: 2, OrgID: 45},
		func(int64) (outbox.Event, error) { return outbox.Event{}, nil }, time.Now().Add(-ago))
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) watch(last string) <-chan error {
	u := live.New(live.Deps{
		Store: b.store, Signals: b, Clock: clock.System{}, Gauge: b, MaxAge: 15 * time.Minute, MaxUnread: 1_000,
	})
	done := make(chan error, 1)
	go func() { done <- u.Watch(b.t.Context(), b.viewer, last, b) }()
	synctest.Wait()
	return done
}

func (b *bench) want(said string) {
	b.t.Helper()
	time.Sleep(2 * time.Second) // a reader rests between two looks
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := strings.Join(b.said, ", "); got != said {
		b.t.Errorf("the reader got %s; want %s", got, said)
	}
}

func TestAReaderGetsWhatComesFromNowOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.add(time.Hour)
		b.add(0)
		done := b.watch("")
		b.want("at 2, unread 2")
		b.add(0)
		b.signal <- struct{}{}
		b.want("at 2, unread 2, 3, unread 3")
		if err := <-done; err != nil { // old enough
			t.Error(err)
		}
		b.want("at 2, unread 2, 3, unread 3")
	})
}

func TestALostSignalDelaysAndLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.watch("no id of ours")
		b.add(0)
		time.Sleep(16 * time.Second)
		b.want("at 0, unread 0, 1, unread 1")
		time.Sleep(15 * time.Minute)
	})
}

func TestACommitThatTookLongIsSentAfterNewerOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.add(time.Hour)
		b.watch("1")
		b.add(0)
		b.signal <- struct{}{}
		b.want("at 1, unread 1, 2, unread 2")
		b.add(20 * time.Second) // older than what the reader has
		b.signal <- struct{}{}
		b.want("at 1, unread 1, 2, unread 2, 3, unread 3")
		time.Sleep(15 * time.Minute)
	})
}

func TestAReaderThatComesBackGetsWhatItMissedOldestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.add(48 * time.Hour)
		b.add(25 * time.Hour) // too long ago: the list has it
		want := []string{"at 1"}
		for i := range 250 {
			b.add(time.Hour - time.Duration(i)*time.Second)
			want = append(want, fmt.Sprint(3+i))
		}
		b.watch("1")
		b.want(strings.Join(append(want, "unread 252"), ", "))
		time.Sleep(15 * time.Minute)
	})
}

func TestMarkingChangesTheCountAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.add(time.Minute)
		b.watch("")
		if _, err := b.store.Mark(t.Context(), b.viewer, 1, notification.Read, time.Now()); err != nil {
			t.Fatal(err)
		}
		b.signal <- struct{}{}
		b.want("at 1, unread 1, unread 0")
		time.Sleep(15 * time.Minute)
	})
}
