package live_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// fixture is one reader of one inbox, in the virtual time of a synctest bubble.
type fixture struct {
	t      *testing.T
	inbox  *inbox
	signal chan struct{}

	mu   sync.Mutex
	sent []string // guarded by mu
}

// inbox is a fake store: a list of notifications by time and id.
type inbox struct {
	mu   sync.Mutex
	list []notification.Notification // guarded by mu
	read int64                       // guarded by mu; number of read notifications

	reworded []live.Rewording // guarded by mu
}

var (
	_ live.Store   = (*inbox)(nil)
	_ live.Changes = (*inbox)(nil)
)

func (i *inbox) After(
	_ context.Context, _ notification.Viewer, p live.Position, limit int,
) (list []notification.Notification, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range i.list {
		if (n.CreatedAt > p.CreatedAt || n.CreatedAt == p.CreatedAt && n.ID > p.ID) && len(list) < limit {
			list = append(list, n)
		}
	}
	return list, nil
}

func (i *inbox) Newest(context.Context, notification.Viewer) (p live.Position, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.list) > 0 {
		newest := i.list[len(i.list)-1]
		p = live.Position{CreatedAt: newest.CreatedAt, ID: newest.ID}
	}
	return p, nil
}

func (i *inbox) Position(_ context.Context, _ notification.Viewer, id int64) (live.Position, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range i.list {
		if n.ID == id {
			return live.Position{CreatedAt: n.CreatedAt, ID: n.ID}, nil
		}
	}
	return live.Position{}, notification.ErrNotFound
}

func (*inbox) ActivitiesOf(
	context.Context, notification.Viewer, []int64, int,
) (map[int64][]notification.Activity, error) {
	return nil, nil
}

func (i *inbox) Reworded(
	_ context.Context, _ notification.Viewer, since int64, limit int,
) (list []live.Rewording, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range i.reworded {
		if r.At >= since && len(list) < limit {
			list = append(list, r)
		}
	}
	return list, nil
}

func (i *inbox) Unread(context.Context, notification.Viewer, notification.Window, int) (int64, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return int64(len(i.list)) - i.read, nil
}

func open(t *testing.T) *fixture {
	t.Helper()
	return &fixture{t: t, inbox: &inbox{}, signal: make(chan struct{}, 1)}
}

func (f *fixture) Listen(context.Context, authn.LabScope) (<-chan struct{}, func(), error) {
	return f.signal, func() {}, nil
}

func (*fixture) Watching(int) {}

func (f *fixture) send(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, fmt.Sprintf(format, args...))
	return nil
}

func (f *fixture) Position(id int64) error { return f.send("at %d", id) }

func (f *fixture) Notification(n notification.Notification, _ []notification.Activity) error {
	return f.send("%d", n.ID)
}

func (f *fixture) Changed(n notification.Notification, _ []notification.Activity) error {
	return f.send("changed %d", n.ID)
}

func (f *fixture) Unread(n int64) error { return f.send("unread %d", n) }

// add makes a notification visible whose transaction began that long ago.
func (f *fixture) add(ago time.Duration) {
	f.inbox.mu.Lock()
	defer f.inbox.mu.Unlock()
	id := int64(len(f.inbox.list) + 1)
	f.inbox.list = append(f.inbox.list, notification.Notification{ID: id, CreatedAt: time.Now().Add(-ago).Unix()})
	slices.SortFunc(f.inbox.list, func(a, b notification.Notification) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// reword replaces the text of a notification, with a time in the past.
func (f *fixture) reword(id int64, ago time.Duration) {
	f.inbox.mu.Lock()
	defer f.inbox.mu.Unlock()
	f.inbox.reworded = append(f.inbox.reworded, live.Rewording{
		Notification: notification.Notification{ID: id}, At: time.Now().Add(-ago).Unix(),
	})
}

func (f *fixture) markRead() {
	f.inbox.mu.Lock()
	defer f.inbox.mu.Unlock()
	f.inbox.read++
}

type store interface {
	live.Store
	live.Changes
}

func (f *fixture) deps(s store, c clock.Clock) live.Deps {
	return live.Deps{Store: s, Changes: s, Signals: f, Clock: c, Gauge: f, MaxAge: 15 * time.Minute, MaxUnread: 1_000}
}

func (f *fixture) watch(last string) <-chan error {
	u := live.New(f.deps(f.inbox, clock.System{}))
	done := make(chan error, 1)
	go func() { done <- u.Watch(f.t.Context(), storetest.User(f.t, 12, 77), last, f) }()
	synctest.Wait()
	return done
}

func (f *fixture) want(sent string) {
	f.t.Helper()
	time.Sleep(2 * time.Second) // a reader rests for a second between two reads
	synctest.Wait()
	f.wantNow(sent)
}

func (f *fixture) wantNow(sent string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := strings.Join(f.sent, ", "); got != sent {
		f.t.Errorf("the reader got %s; want %s", got, sent)
	}
}

func TestAReaderGetsNotificationsThatFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.add(time.Hour)
		f.add(0)
		done := f.watch("")
		f.want("at 2, unread 2")
		f.add(0)
		f.signal <- struct{}{}
		f.want("at 2, unread 2, 3, unread 3")
		if err := <-done; err != nil {
			t.Errorf("a stream of MaxAge ended with %v, want no error", err)
		}
		f.want("at 2, unread 2, 3, unread 3")
	})
}

func TestALostSignalDelaysNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.watch("no id of ours")
		f.add(0)
		time.Sleep(16 * time.Second)
		f.want("at 0, unread 0, 1, unread 1")
		time.Sleep(15 * time.Minute)
	})
}

func TestALateCommitIsSentAfterNewerNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.add(time.Hour)
		f.watch("1")
		f.add(0)
		f.signal <- struct{}{}
		f.want("at 1, unread 1, 2, unread 2")
		f.add(20 * time.Second) // older than the reader's newest one
		f.signal <- struct{}{}
		f.want("at 1, unread 1, 2, unread 2, 3, unread 3")
		time.Sleep(15 * time.Minute)
	})
}

func TestAReconnectedReaderGetsMissedNotificationsOldestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.add(48 * time.Hour)
		f.add(25 * time.Hour) // older than a stream replays; only the list has it
		want := []string{"at 1"}
		for i := range 250 {
			f.add(time.Hour - time.Duration(i)*time.Second)
			want = append(want, fmt.Sprint(3+i))
		}
		f.watch("1")
		f.want(strings.Join(append(want, "unread 252"), ", "))
		time.Sleep(15 * time.Minute)
	})
}

// TestAReplacedTextIsSentOnce replaces the texts of old notifications. An open page gets each change once. A page that
// reconnects gets the changes since its position.
func TestAReplacedTextIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.add(time.Hour)
		f.add(time.Minute)
		f.reword(1, 50*time.Minute)
		f.watch("")
		f.want("at 2, unread 2")
		f.reword(1, 0)
		f.signal <- struct{}{}
		f.want("at 2, unread 2, changed 1")
		f.reword(2, 20*time.Second) // a commit that became visible late
		f.signal <- struct{}{}
		f.want("at 2, unread 2, changed 1, changed 2")
		time.Sleep(16 * time.Minute)
		f.wantNow("at 2, unread 2, changed 1, changed 2")
		f.sent = nil
		f.watch("1")
		f.want("at 1, 2, changed 1, changed 2, unread 2")
		time.Sleep(16 * time.Minute)
	})
}

func TestMarkingChangesOnlyTheCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.add(time.Minute)
		f.watch("")
		f.markRead()
		f.signal <- struct{}{}
		f.want("at 1, unread 1, unread 0")
		time.Sleep(15 * time.Minute)
	})
}
