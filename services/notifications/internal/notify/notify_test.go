package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
)

// bench is the use case with all that it calls.
type bench struct {
	*notify.Notifier
	t        *testing.T
	store    *memory.Store
	now      time.Time
	pushes   []notify.Push
	outcomes []notify.Outcome
	woken    int
	changed  []int64 // laboratories
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, store: memory.New(), now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	b.Notifier = notify.NewNotifier(notify.Deps{
		Store: b.store, Messages: b, Zone: "IN", Clock: b, Observer: b, WakeRelay: func() { b.woken++ }, Signals: b,
	})
	return b
}

func (b *bench) Now() time.Time { return b.now }

func (b *bench) Push(_ authn.LabScope, _ int64, pushes []notify.Push) (outbox.Event, error) {
	b.pushes = append(b.pushes, pushes...)
	return outbox.Event{Kind: "push"}, nil
}

func (b *bench) Notified(o notify.Outcome) { b.outcomes = append(b.outcomes, o) }

func (b *bench) Changed(_ context.Context, lab authn.LabScope) {
	b.changed = append(b.changed, lab.LabID())
}

var caller = authn.Principal{Kind: authn.Service, Caller: "callout"}

func (b *bench) notify(t notify.Trigger) notify.Result {
	b.t.Helper()
	t.Gateway = notify.Gateway
	result, err := b.Notify(b.t.Context(), caller, t)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// inbox returns what the laboratory's users see.
func (b *bench) inbox() []notification.Notification {
	b.t.Helper()
	lab, err := caller.Scope(12)
	if err != nil {
		b.t.Fatal(err)
	}
	list, err := b.store.List(b.t.Context(), notification.UserViewer(lab, 77),
		notification.Window{To: b.now.Unix()}, inbox.Page{Limit: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func (b *bench) disable(typeID int64) {
	b.t.Helper()
	lab, err := caller.Scope(12)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.store.SetKinds(b.t.Context(), lab, []notification.Switch{{TypeID: typeID, Disabled: true}}, 77, b.now); err != nil {
		b.t.Fatal(err)
	}
}

const critical = `{"lab_id":12,"org_id":45,"lrr_id":7001}`

func TestATriggerIsStoredPushedAndShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)})
	if got != (notify.Result{Outcome: notify.Stored, NotificationID: 1, Topic: "IN_notification_type_2_org_45"}) {
		t.Errorf("%+v", got)
	}
	if len(b.inbox()) != 1 || len(b.store.Events()) != 1 || b.woken != 1 || len(b.changed) != 1 || b.changed[0] != 12 {
		t.Errorf("inbox %v, outbox %v, relay woken %d times, pages of %v", b.inbox(), b.store.Events(), b.woken, b.changed)
	}
}

func TestATypeThatTheLaboratorySwitchedOffIsSilentUnlessItIsMandatory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.disable(2)
	if got := b.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)}); got.Outcome != notify.Off || len(b.inbox()) != 0 || len(b.store.Events()) != 0 {
		t.Errorf("%+v, inbox %v", got, b.inbox())
	}
	b.store.Types[1].Mandatory = true
	if got := b.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)}); got.Outcome != notify.Stored || len(b.inbox()) != 1 {
		t.Errorf("mandatory: %+v, inbox %v", got, b.inbox())
	}
	if diff := cmp.Diff([]notify.Outcome{notify.Off, notify.Stored}, b.outcomes); diff != "" {
		t.Error(diff)
	}
}

// TestWhoHearsOfACriticalResult: the first notice and a correction are for all, an escalation for the laboratory alone,
// also when its sender names the others.
func TestWhoHearsOfACriticalResult(t *testing.T) {
	t.Parallel()
	const ids = `{"lab_id":12,"org_id":45,"doctor_id":301,"lrr_id":7001,"bill_id":400,`
	for context, want := range map[string]struct {
		title    string
		topics   []string
		seenByOf bool
	}{
		ids + `"escalation":0}`:                     {"Critical report", []string{"org_45", "doctor_301", "lab_12"}, true},
		ids + `"escalation":0,"corrected":true}`:    {"A critical result was corrected", []string{"org_45", "doctor_301", "lab_12"}, true},
		ids + `"escalation":2}`:                     {"Critical result waits for a call", []string{"lab_12"}, false},
		`{"lab_id":12,"lrr_id":7001,"bill_id":400}`: {"Critical report", []string{"lab_12"}, false},
	} {
		b := newBench(t)
		b.notify(notify.Trigger{TypeID: 2, Context: []byte(context)})
		var topics []string
		for _, p := range b.pushes {
			topics = append(topics, strings.TrimPrefix(p.Topic, "IN_notification_type_2_"))
			if p.Title != want.title || !p.Urgent {
				t.Errorf("%s: %+v", context, p)
			}
		}
		shown := b.inbox()[0].Message
		if diff := cmp.Diff(want.topics, topics); diff != "" || shown.Title != want.title {
			t.Errorf("%s: %s, inbox %q", context, diff, shown.Title)
		}
		if told := strings.Contains(string(shown.Data), "org_id"); told != want.seenByOf {
			t.Errorf("%s: data %s", context, shown.Data)
		}
		org, err := notification.ViewerOf(authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 45})
		if err != nil {
			t.Fatal(err)
		}
		seen, err := b.store.List(t.Context(), org, notification.Window{To: b.now.Unix()}, inbox.Page{Limit: 9})
		if err != nil || (len(seen) == 1) != want.seenByOf {
			t.Errorf("%s: the organisation sees %v, %v", context, seen, err)
		}
	}
}

func TestARepetitionSendsNothingTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)})
	b.now = b.now.Add(59 * time.Second)
	if again := b.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)}); again.Outcome != notify.Repeated || again.NotificationID != first.NotificationID {
		t.Errorf("in the same minute: %+v", again)
	}
	b.now = b.now.Add(time.Second)
	if later := b.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)}); later.Outcome != notify.Stored {
		t.Errorf("in the next minute: %+v", later)
	}
	keyed := b.notify(notify.Trigger{TypeID: 2, Context: []byte(critical), IdempotencyKey: "k"})
	b.now = b.now.Add(time.Hour)
	if again := b.notify(notify.Trigger{TypeID: 2, Context: []byte(critical), IdempotencyKey: "k"}); again.NotificationID != keyed.NotificationID {
		t.Errorf("the same key an hour later: %+v", again)
	}
	for range 2 { // about nothing in particular: each is its own
		if got := b.notify(notify.Trigger{TypeID: 1, Context: []byte(`{"lab_id":12,"org_id":45}`)}); got.Outcome != notify.Stored {
			t.Errorf("without a subject: %+v", got)
		}
	}
	if len(b.inbox()) != 5 || len(b.store.Events()) != 5 || b.woken != 5 {
		t.Errorf("%d in the inbox, %d pushed, relay woken %d times", len(b.inbox()), len(b.store.Events()), b.woken)
	}
}

func TestWordingIsStoredAsSentAndNeverPushed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	title, body := `<img src=x onerror=alert(1)> canary'; DROP TABLE Notifications; --`, "{{.}} ${canary} \u202e\r\nSet-Cookie: a=b"
	text, err := json.Marshal(map[string]any{"lab_id": 12, "org_id": 45, "lrr_id": 7001, "title": title, "body": body})
	if err != nil {
		t.Fatal(err)
	}
	b.notify(notify.Trigger{TypeID: 2, Context: text})
	shown := b.inbox()[0].Message
	if shown.Title != title || shown.Body != body || strings.Contains(string(shown.Data), "canary") {
		t.Errorf("%+v", shown)
	}
	want := notify.Push{Topic: "IN_notification_type_2_org_45", For: "org", Title: "Critical report", TypeID: 2, ReportID: 7001, Urgent: true}
	lab := want
	lab.Topic, lab.For = "IN_notification_type_2_lab_12", "lab"
	if diff := cmp.Diff([]notify.Push{want, lab}, b.pushes); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsRefusedStoresNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	user := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 13, LabUserID: 87}
	for name, c := range map[string]struct {
		p    authn.Principal
		t    notify.Trigger
		want apperr.Kind
	}{
		"an unknown gateway":     {caller, notify.Trigger{Gateway: "sms", TypeID: 2, Context: []byte(critical)}, apperr.NotFound},
		"an unknown type":        {caller, notify.Trigger{Gateway: "fcm", TypeID: 9, Context: []byte(critical)}, apperr.NotFound},
		"not an object":          {caller, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(`[1]`)}, apperr.Invalid},
		"no laboratory":          {caller, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(`{}`)}, apperr.Invalid},
		"another's laboratory":   {user, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(critical)}, apperr.Invalid},
		"a context of a book":    {caller, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: make([]byte, 1<<20)}, apperr.Invalid},
		"a title that is a list": {caller, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(`{"lab_id":12,"title":[]}`)}, apperr.Invalid},
	} {
		_, err := b.Notify(t.Context(), c.p, c.t)
		var refused *apperr.Error
		if !errors.As(err, &refused) || refused.Kind != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(b.inbox()) != 0 || len(b.store.Events()) != 0 || b.woken != 0 {
		t.Errorf("inbox %v, outbox %v", b.inbox(), b.store.Events())
	}
}
