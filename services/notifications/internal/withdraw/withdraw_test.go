package withdraw_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/delivery"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/mysql"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
	"github.com/labplatform/labplatform/services/notifications/internal/withdraw"
)

// fixture contains the use cases that withdraw, notify and deliver.
type fixture struct {
	*withdraw.Withdrawals
	*notify.Notifier
	*storetest.Database

	t       *testing.T
	changed int  // number of signals to open pages
	pushOff bool // setting of the delivery
	// The task queue is paused, or the laboratory is.
	paused, labPaused bool

	mu      sync.Mutex
	stopped []notify.Stop // guarded by mu; push messages that were not sent
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Database: storetest.Open(t), t: t}
	f.Withdrawals = f.over(f.Store)
	f.Notifier = notify.NewNotifier(notify.Deps{
		Store: f.Store, Messages: delivery.Messages{}, Names: storetest.Names, Clock: f.Clock, Observer: f, WakeRelay: func() {}, Signals: quiet{},
		PushWaits: func(int64) bool { return false },
	})
	return f
}

func (f *fixture) over(s withdraw.Store) *withdraw.Withdrawals {
	return withdraw.New(withdraw.Deps{Store: s, Clock: f.Clock, Observer: f, Signals: f})
}

type quiet struct{}

func (quiet) Changed(context.Context, authn.LabScope) {}

func (f *fixture) Changed(context.Context, authn.LabScope) { f.changed++ }

func (*fixture) Notified(notify.Outcome) {}

func (*fixture) Withdrawn(notification.Reason) {}

func (f *fixture) Stopped(reason notify.Stop) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = append(f.stopped, reason)
}

var callout = authn.Principal{Kind: authn.Service, Caller: "callout"}

const critical = `{"lab_id":12,"org_id":45,"doctor_id":301,"lrr_id":7001}`

func (f *fixture) notify(key string) notify.Result {
	return f.notifyOf(notification.CriticalReport, key, critical)
}

func (f *fixture) notifyOf(typeID int64, key, about string) notify.Result {
	f.t.Helper()
	got, err := f.Notify(f.t.Context(), callout,
		notify.Trigger{Gateway: "fcm", TypeID: typeID, Context: []byte(about), IdempotencyKey: &key})
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

func (f *fixture) withdraw(key string, reason notification.Reason) withdraw.Answer {
	f.t.Helper()
	got, err := f.Withdraw(f.t.Context(), callout, withdraw.Request{LabID: 12, IdempotencyKey: key, Reason: string(reason)})
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

func (f *fixture) want(name string, got, want withdraw.Answer) {
	f.t.Helper()
	if got != want {
		f.t.Errorf("%s: %+v, want %+v", name, got, want)
	}
}

// tasks counts the tasks sent to the task queue.
type tasks struct{ n int }

func (q *tasks) Enqueue(
	_ context.Context, in *taskqueuev1.EnqueueRequest, _ ...grpc.CallOption,
) (*taskqueuev1.EnqueueResponse, error) {
	q.n += len(in.GetTasks())
	return &taskqueuev1.EnqueueResponse{}, nil
}

// deliver delivers the outbox once. It returns the number of tasks sent to the queue.
func (f *fixture) deliver() int {
	f.t.Helper()
	n, waiting := f.tryDeliver()
	if waiting != 0 {
		f.t.Fatalf("%d messages wait", waiting)
	}
	return n
}

// tryDeliver delivers the outbox once. It returns the number of tasks sent to the queue, and of messages whose receiver
// was unavailable.
func (f *fixture) tryDeliver() (n, waiting int) {
	f.t.Helper()
	table, err := outbox.NewTable(mysql.OutboxTable)
	if err != nil {
		f.t.Fatal(err)
	}
	q := &tasks{}
	receivers := delivery.Dispatcher{Table: table, TaskQueue: q, Store: f.Store, Observer: f, PushOff: f.pushOff,
		Held:   func() bool { return f.paused },
		Paused: func(int64) bool { return f.labPaused }}.Receivers()
	for i, e := range f.Events() {
		row := outbox.Row{ID: int64(i), Aggregate: e.Aggregate, Kind: e.Kind, Payload: e.Payload}
		switch err := receivers[e.Kind](f.t.Context(), row); {
		case outbox.IsReceiverUnavailable(err):
			waiting++
		case err != nil && !f.labPaused:
			f.t.Fatal(err)
		}
	}
	return q.n, waiting
}

func (f *fixture) viewers() map[string]notification.Viewer {
	return map[string]notification.Viewer{
		"organisation": storetest.Viewer(f.t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45}),
		"doctor":       storetest.Viewer(f.t, authn.Principal{SessionType: authn.Doctor, LabID: 12, DoctorID: 301}),
		"lab user":     storetest.User(f.t, 12, 77),
	}
}

// titles returns the titles in a viewer's inbox.
func (f *fixture) titles(v notification.Viewer) string {
	f.t.Helper()
	list, err := f.List(f.t.Context(), v, notification.Window{To: f.Clock.Now().Unix()}, inbox.Page{Limit: 9})
	if err != nil {
		f.t.Fatal(err)
	}
	var titles []string
	for _, n := range list {
		titles = append(titles, n.Message.Title)
	}
	return strings.Join(titles, ", ")
}

// TestANoticeIsWithdrawnBeforeItsPush withdraws a notice while its push waits in the outbox. The push is not sent. The
// text of a wrong notice that no receiver has read is replaced in every inbox, and open pages are woken.
func TestANoticeIsWithdrawnBeforeItsPush(t *testing.T) {
	t.Parallel()
	for reason, title := range map[notification.Reason]string{
		notification.Called: "Critical report", notification.Wrong: "Withdrawn: Critical report",
	} {
		f := open(t)
		f.notify("k")
		f.notify("other")
		f.want("withdrawn", f.withdraw("k", reason), withdraw.Answer{Found: true})
		if n := f.deliver(); n != 3 || fmt.Sprint(f.stopped) != "[withdrawn]" {
			t.Errorf("%s: %d tasks, stopped %v; want the 3 of the other notice, and one stopped", reason, n, f.stopped)
		}
		for name, v := range f.viewers() {
			if got, want := f.titles(v), "Critical report, "+title; got != want {
				t.Errorf("%s: the %s sees %q, want %q", reason, name, got, want)
			}
		}
		if woken := f.changed > 0; woken != (reason == notification.Wrong) {
			t.Errorf("%s: open pages are woken: %v, want only for a new text", reason, woken)
		}
	}
}

// TestANoticeThatAReceiverReadKeepsItsText makes each kind of receiver read a notice before it is withdrawn. One of
// them marks it unread again. Its text must stay.
func TestANoticeThatAReceiverReadKeepsItsText(t *testing.T) {
	t.Parallel()
	f := open(t)
	for name, reader := range f.viewers() {
		for _, action := range []notification.Action{notification.Read, notification.Unread} {
			key := name + string(action)
			id := f.notify(key).NotificationID
			for _, a := range []notification.Action{notification.Read, action} {
				if _, err := f.Mark(t.Context(), reader, id, a, f.Clock.Now()); err != nil {
					t.Fatal(err)
				}
			}
			f.want(key, f.withdraw(key, notification.Wrong), withdraw.Answer{Found: true, WasRead: true})
		}
	}
	if got := f.titles(storetest.User(t, 12, 77)); strings.Contains(got, "Withdrawn") {
		t.Errorf("the inbox shows %q, want every text as it was read", got)
	}
}

// TestARepetitionGetsTheFirstAnswer reads the notice between two withdrawals. Later, it withdraws a called notice as
// wrong. Each repetition must get the first answer.
func TestARepetitionGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	f := open(t)
	id := f.notify("k").NotificationID
	f.want("called", f.withdraw("k", notification.Called), withdraw.Answer{Found: true})
	f.want("wrong", f.withdraw("k", notification.Wrong), withdraw.Answer{Found: true})
	if got := f.titles(storetest.User(t, 12, 77)); got != "Withdrawn: Critical report" {
		t.Errorf("the inbox shows %q, want it withdrawn", got)
	}
	if _, err := f.Mark(t.Context(), storetest.User(t, 12, 77), id, notification.Read, f.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	f.Clock.Advance(time.Hour)
	for _, reason := range []notification.Reason{notification.Called, notification.Wrong} {
		f.want("repeated", f.withdraw("k", reason), withdraw.Answer{Found: true})
	}
	if got := f.titles(storetest.User(t, 12, 77)); got != "Withdrawn: Critical report" {
		t.Errorf("the inbox shows %q, want it withdrawn once", got)
	}
	if got := f.notify("k"); got.Outcome != notify.Repeated || got.NotificationID != id {
		t.Errorf("the trigger again: %+v, want it repeated", got)
	}
}

// TestANoticeThatIsPartlyWrongStaysAsItIs withdraws a notice as partly wrong, before and after a receiver reads it. Its
// push is sent, its text stays, and it can be withdrawn later. A notice that arrives after such a withdrawal is sent.
func TestANoticeThatIsPartlyWrongStaysAsItIs(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.want("unknown", f.withdraw("k", notification.PartlyWrong), withdraw.Answer{})
	id := f.notify("k").NotificationID
	f.want("unread", f.withdraw("k", notification.PartlyWrong), withdraw.Answer{Found: true})
	asha := storetest.User(t, 12, 77)
	if n := f.deliver(); n != 3 || f.titles(asha) != "Critical report" {
		t.Errorf("%d tasks, title %q; want 3 and the notice as it was", n, f.titles(asha))
	}
	if _, err := f.Mark(t.Context(), asha, id, notification.Read, f.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	f.want("read", f.withdraw("k", notification.PartlyWrong), withdraw.Answer{Found: true, WasRead: true})
	f.want("wrong", f.withdraw("k", notification.Wrong), withdraw.Answer{Found: true, WasRead: true})
}

// TestANoticeThatComesAfterItsWithdrawalIsNotSent withdraws keys that were never used. The same key of another
// laboratory stays valid.
func TestANoticeThatComesAfterItsWithdrawalIsNotSent(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.want("unknown", f.withdraw("k", notification.Wrong), withdraw.Answer{})
	for range 2 {
		if got := f.notify("k"); got != (notify.Result{Outcome: notify.Withdrawn}) {
			t.Errorf("the notice: %+v, want it withdrawn", got)
		}
	}
	f.want("repeated", f.withdraw("k", notification.Wrong), withdraw.Answer{})
	if inbox, events := f.titles(storetest.User(t, 12, 77)), len(f.Events()); inbox != "" || events != 0 {
		t.Errorf("inbox %q, %d messages; want none", inbox, events)
	}
	got, err := f.Notify(t.Context(), callout, notify.Trigger{
		Gateway: "fcm", TypeID: 2, Context: []byte(`{"lab_id":13,"lrr_id":7001}`), IdempotencyKey: new("k"),
	})
	if err != nil || got.Outcome != notify.Stored {
		t.Errorf("the key of another laboratory: %+v, %v; want it stored", got, err)
	}
}

// TestANoticeAndItsWithdrawalAtOnce sends and withdraws notices concurrently. No push is sent, whichever came first,
// and the answers agree with the stored state.
func TestANoticeAndItsWithdrawalAtOnce(t *testing.T) {
	t.Parallel()
	const notices = 30
	f := open(t)
	found := make([]bool, notices)
	outcomes := make([]notify.Outcome, notices)
	var wait sync.WaitGroup
	for i := range notices {
		key := fmt.Sprint("k", i)
		wait.Go(func() {
			r, err := f.Notify(t.Context(), callout,
				notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(critical), IdempotencyKey: &key})
			if err != nil {
				t.Error(err)
			}
			outcomes[i] = r.Outcome
		})
		wait.Go(func() {
			a, err := f.over(f.Store).Withdraw(t.Context(), callout, withdraw.Request{LabID: 12, IdempotencyKey: key, Reason: "called"})
			if err != nil {
				t.Error(err)
			}
			found[i] = a.Found
		})
	}
	wait.Wait()
	stored := 0
	for i := range notices {
		if found[i] != (outcomes[i] == notify.Stored) {
			t.Errorf("notice %d: found %v, %s; want the answers to agree", i, found[i], outcomes[i])
		}
		if found[i] {
			stored++
		}
	}
	if n := f.deliver(); n != 0 || len(f.Events()) != stored {
		t.Errorf("%d tasks of %d messages; want none of %d", n, len(f.Events()), stored)
	}
}

// TestAWithdrawalWaitsForItsReaders holds the lock of one side on the notification. A withdrawal waits for a reader who
// is marking the notification, and counts that reader; readers wait for a withdrawal.
func TestAWithdrawalWaitsForItsReaders(t *testing.T) {
	t.Parallel()
	f := open(t)
	asha, month := storetest.User(t, 12, 77), notification.Window{To: f.Clock.Now().Unix()}
	id := f.notify("k").NotificationID
	const activity = "INSERT INTO NotificationActivity (notification_id, lab_id, user_type, user_id, activity, activity_at)" +
		" VALUES (?, 12, 'lab_user', 78, 'read', 0)"
	for name, c := range map[string]struct {
		lock string
		held func(*sql.Tx) error
		wait func() error
	}{
		"a withdrawal": {"LOCK IN SHARE MODE", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), activity, id)
			return err
		}, func() error {
			a, err := f.Withdraw(t.Context(), callout, withdraw.Request{LabID: 12, IdempotencyKey: "k", Reason: "wrong"})
			if err == nil && a != (withdraw.Answer{Found: true, WasRead: true}) {
				err = fmt.Errorf("the answer is %+v, want it read", a)
			}
			return err
		}},
		"a reader": {"FOR UPDATE", nil, func() error {
			_, err := f.Mark(t.Context(), asha, id, notification.Read, f.Clock.Now())
			return err
		}},
		"a reader of everything": {"FOR UPDATE", nil, func() error {
			_, err := f.MarkRead(t.Context(), storetest.User(t, 12, 79), month, math.MaxInt64, 9, f.Clock.Now())
			return err
		}},
	} {
		tx, err := f.DB.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var locked int64
		err = tx.QueryRowContext(t.Context(), "SELECT id FROM Notifications WHERE id = ? "+c.lock, id).Scan(&locked)
		if err == nil && c.held != nil {
			err = c.held(tx)
		}
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- c.wait() }()
		select {
		case err := <-done:
			t.Errorf("%s ends with %v while the notification is locked, want it to wait", name, err)
			done <- err
		case <-time.After(200 * time.Millisecond):
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
		}
	}
}

func TestInvalidWithdrawalsWriteNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.notify("k")
	for name, r := range map[string]withdraw.Request{
		"no laboratory":       {IdempotencyKey: "k", Reason: "wrong"},
		"no key":              {LabID: 12, Reason: "wrong"},
		"a blank key":         {LabID: 12, IdempotencyKey: " ", Reason: "wrong"},
		"no reason":           {LabID: 12, IdempotencyKey: "k"},
		"an unknown reason":   {LabID: 12, IdempotencyKey: "k", Reason: "late"},
		"a negative number":   {LabID: -1, IdempotencyKey: "k", Reason: "wrong"},
		"a reason in capital": {LabID: 12, IdempotencyKey: "k", Reason: "Wrong"},
	} {
		if _, err := f.Withdraw(t.Context(), callout, r); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%s: %v, want it refused as invalid", name, err)
		}
	}
	if n := f.deliver(); n != 3 {
		t.Errorf("%d tasks, want 3", n)
	}
}

// TestACrashLeavesNoticeAndWithdrawalInStep aborts a withdrawal before each of its statements. Text, push and answer
// agree, and repeating the withdrawal returns the valid answer.
func TestACrashLeavesNoticeAndWithdrawalInStep(t *testing.T) {
	t.Parallel()
	var f *fixture
	request := withdraw.Request{LabID: 12, IdempotencyKey: "k", Reason: "wrong"}
	start := func() string {
		f = open(t)
		f.notify("k")
		return f.DSN
	}
	run := func(db *sql.DB) error {
		_, err := f.over(f.Over(db)).Withdraw(t.Context(), callout, request)
		return err
	}
	asha := storetest.User(t, 12, 77)
	crashes := crashdb.Each(t, start, run, func(c crashdb.Crash, _ error) {
		withdrawn := f.titles(asha) == "Withdrawn: Critical report"
		if pushed := f.deliver() > 0; pushed == withdrawn {
			t.Errorf("the process %s: withdrawn %v, pushed %v; want one of them", c, withdrawn, pushed)
		}
		f.want(c.String(), f.withdraw("k", notification.Wrong), withdraw.Answer{Found: true})
		if n, title := f.deliver(), f.titles(asha); n != 0 || title != "Withdrawn: Critical report" {
			t.Errorf("the process %s; the withdrawal again: %d tasks, title %q; want it withdrawn", c, n, title)
		}
	})
	if len(crashes) < 7 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}
