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
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// fixture contains the use case with its dependencies.
type fixture struct {
	*notify.Notifier
	*storetest.Database

	t        *testing.T
	pushes   []notify.Push
	outcomes []notify.Outcome
	woken    int
	changed  []int64 // ids of laboratories
	pushOff  bool
	waits    bool
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Database: storetest.Open(t), t: t}
	f.Notifier = f.over(f.Database)
	return f
}

func (f *fixture) over(s notify.Store) *notify.Notifier {
	return notify.NewNotifier(notify.Deps{
		Store: s, Messages: f, Names: storetest.Names, Clock: f.Clock, Observer: f, WakeRelay: func() { f.woken++ }, Signals: f,
		PushOff: f.pushOff, PushWaits: func(int64) bool { return f.waits },
	})
}

func (f *fixture) Push(_ authn.LabScope, _ int64, pushes []notify.Push) (outbox.Event, error) {
	f.pushes = append(f.pushes, pushes...)
	return outbox.Event{Aggregate: "notification", Kind: "push"}, nil
}

func (f *fixture) Notified(o notify.Outcome) { f.outcomes = append(f.outcomes, o) }

func (f *fixture) Changed(_ context.Context, lab authn.LabScope) {
	f.changed = append(f.changed, lab.LabID())
}

var caller = authn.Principal{Kind: authn.Service, Caller: "callout"}

func (f *fixture) notify(t notify.Trigger) notify.Result {
	f.t.Helper()
	t.Gateway = notify.Gateway
	result, err := f.Notify(f.t.Context(), caller, t)
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// inbox returns the notifications that the laboratory's users see.
func (f *fixture) inbox() []notification.Notification {
	f.t.Helper()
	lab, err := caller.Scope(12)
	if err != nil {
		f.t.Fatal(err)
	}
	list, err := f.List(f.t.Context(), notification.UserViewer(lab, 77),
		notification.Window{To: f.Clock.Now().Unix()}, inbox.Page{Limit: 100})
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

func (f *fixture) disable(typeID int64) {
	f.t.Helper()
	lab, err := caller.Scope(12)
	if err != nil {
		f.t.Fatal(err)
	}
	off := []notification.Switch{{TypeID: typeID, Disabled: true}}
	if err := f.SetKinds(f.t.Context(), lab, off, 77, f.Clock.Now()); err != nil {
		f.t.Fatal(err)
	}
}

const critical = `{"lab_id":12,"org_id":45,"lrr_id":7001}`

func TestATriggerIsStoredPushedAndShown(t *testing.T) {
	t.Parallel()
	f := open(t)
	got := f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)})
	want := notify.Result{Outcome: notify.Stored, NotificationID: 1, Topic: "IN_notification_type_2_org_45",
		Unreachable: notification.NoDevice}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(f.inbox()) != 1 || len(f.Events()) != 1 || f.woken != 1 || len(f.changed) != 1 || f.changed[0] != 12 {
		t.Errorf("inbox %v, outbox %v, relay woken %d times, pages of %v; want one each, pages of 12",
			f.inbox(), f.Events(), f.woken, f.changed)
	}
}

func TestADisabledTypeStoresNothingUnlessItIsMandatory(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.disable(2)
	got := f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)})
	if got.Outcome != notify.Off || len(f.inbox()) != 0 || len(f.Events()) != 0 {
		t.Errorf("a type that is off: %+v, inbox %v, outbox %v; want nothing stored", got, f.inbox(), f.Events())
	}
	f.Exec("UPDATE NotificationTypesMaster SET is_mandatory = 1 WHERE id = 2")
	got = f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)})
	if got.Outcome != notify.Stored || len(f.inbox()) != 1 {
		t.Errorf("a mandatory type: %+v, inbox %v; want it stored", got, f.inbox())
	}
	if diff := cmp.Diff([]notify.Outcome{notify.Off, notify.Stored}, f.outcomes); diff != "" {
		t.Errorf("outcomes (-want +got): %s", diff)
	}
}

// TestAddresseesOfACriticalResult checks that the first notice and a correction go to all addressees, and an escalation
// to the laboratory only, even if its context names the others.
func TestAddresseesOfACriticalResult(t *testing.T) {
	t.Parallel()
	const ids = `{"lab_id":12,"org_id":45,"doctor_id":301,"lrr_id":7001,"bill_id":400,`
	for context, want := range map[string]struct {
		title  string
		topics []string
		shared bool // visible to the organization
	}{
		ids + `"escalation":0}`:                      {"Critical report", []string{"org_45", "doctor_301", "lab_12"}, true},
		ids + `"escalation":0,"corrected":true}`:     {"A critical result was corrected", []string{"org_45", "doctor_301", "lab_12"}, true},
		ids + `"escalation":2}`:                      {"Critical result waits for a call", []string{"lab_12"}, false},
		ids + `"corrected":true,"laboratory":false}`: {"A critical result was corrected", []string{"org_45", "doctor_301"}, true},
		ids + `"corrected":true,"laboratory":true}`:  {"A critical result was corrected", []string{"org_45", "doctor_301", "lab_12"}, true},
		`{"lab_id":12,"lrr_id":7001,"bill_id":400}`:  {"Critical report", []string{"lab_12"}, false},
	} {
		f := open(t)
		f.notify(notify.Trigger{TypeID: 2, Context: []byte(context)})
		var topics []string
		for _, p := range f.pushes {
			topics = append(topics, strings.TrimPrefix(p.Topic, "IN_notification_type_2_"))
			if p.Title != want.title || !p.Urgent {
				t.Errorf("%s: push %+v, want an urgent one titled %q", context, p, want.title)
			}
		}
		shown := f.inbox()[0].Message
		if diff := cmp.Diff(want.topics, topics); diff != "" || shown.Title != want.title {
			t.Errorf("%s: title %q, want %q; topics (-want +got): %s", context, shown.Title, want.title, diff)
		}
		if strings.Contains(string(shown.Data), "laboratory") {
			t.Errorf("%s: data %s; want no laboratory", context, shown.Data)
		}
		if named := strings.Contains(string(shown.Data), "org_id"); named != want.shared {
			t.Errorf("%s: data %s; names the organisation %v, want %v", context, shown.Data, named, want.shared)
		}
		org := storetest.Viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45})
		seen, err := f.List(t.Context(), org, notification.Window{To: f.Clock.Now().Unix()}, inbox.Page{Limit: 9})
		if err != nil || (len(seen) == 1) != want.shared {
			t.Errorf("%s: the organisation sees %v, %v; want it to see the notification: %v", context, seen, err, want.shared)
		}
	}
}

func TestARepeatSendsNothingTwice(t *testing.T) {
	t.Parallel()
	f := open(t)
	first := f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)})
	f.Clock.Advance(59 * time.Second)
	again := f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)})
	if again.Outcome != notify.Repeated || again.NotificationID != first.NotificationID {
		t.Errorf("in the same minute: %+v, want notification %d repeated", again, first.NotificationID)
	}
	f.Clock.Advance(time.Second)
	if later := f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)}); later.Outcome != notify.Stored {
		t.Errorf("in the next minute: %+v, want it stored", later)
	}
	keyed := f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical), IdempotencyKey: new("k")})
	f.Clock.Advance(time.Hour)
	again = f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical), IdempotencyKey: new("k")})
	if again.NotificationID != keyed.NotificationID {
		t.Errorf("the same key an hour later: %+v, want notification %d", again, keyed.NotificationID)
	}
	for range 2 { // without a subject, every trigger creates its own notification
		got := f.notify(notify.Trigger{TypeID: 1, Context: []byte(`{"lab_id":12,"org_id":45}`)})
		if got.Outcome != notify.Stored {
			t.Errorf("without a subject: %+v, want it stored", got)
		}
	}
	if inbox, events := len(f.inbox()), len(f.Events()); inbox != 5 || events != 5 || f.woken != 5 {
		t.Errorf("%d in the inbox, %d in the outbox, relay woken %d times; want 5 each", inbox, events, f.woken)
	}
}

func TestWordingIsStoredAsSentAndNeverPushed(t *testing.T) {
	t.Parallel()
	f := open(t)
	title := `<img src=x onerror=alert(1)> canary'; DROP TABLE Notifications; --`
	body := "{{.}} ${canary} \u202e\r\nSet-Cookie: a=b"
	text, err := json.Marshal(map[string]any{"lab_id": 12, "org_id": 45, "lrr_id": 7001, "title": title, "body": body})
	if err != nil {
		t.Fatal(err)
	}
	f.notify(notify.Trigger{TypeID: 2, Context: text})
	shown := f.inbox()[0].Message
	if shown.Title != title || shown.Body != body || strings.Contains(string(shown.Data), "canary") {
		t.Errorf("shown %+v, want the wording as it was sent, and none of it in the data", shown)
	}
	want := notify.Push{
		Topic: "IN_notification_type_2_org_45", For: "org", Title: "Critical report",
		Body: "A report has a critical result. Open it now.", TypeID: 2, ReportID: 7001, Urgent: true,
	}
	lab := want
	lab.Topic, lab.For = "IN_notification_type_2_lab_12", "lab"
	if diff := cmp.Diff([]notify.Push{want, lab}, f.pushes); diff != "" {
		t.Errorf("pushes (-want +got): %s", diff)
	}
}

func TestRefusedTriggersStoreNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	user := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 13, LabUserID: 87}
	for name, c := range map[string]struct {
		p    authn.Principal
		t    notify.Trigger
		want apperr.Kind
	}{
		"an unknown gateway": {caller, notify.Trigger{Gateway: "sms", TypeID: 2, Context: []byte(critical)}, apperr.NotFound},
		"an unknown type":    {caller, notify.Trigger{Gateway: "fcm", TypeID: 9, Context: []byte(critical)}, apperr.NotFound},
		"not an object":      {caller, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(`[1]`)}, apperr.Invalid},
		"no laboratory":      {caller, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(`{}`)}, apperr.Invalid},
		"another laboratory": {user, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(critical)}, apperr.Invalid},
		"an empty key": {caller, notify.Trigger{
			Gateway: "fcm", TypeID: 2, Context: []byte(critical), IdempotencyKey: new(""),
		}, apperr.Invalid},
		"a blank key": {caller, notify.Trigger{
			Gateway: "fcm", TypeID: 2, Context: []byte(critical), IdempotencyKey: new(" "),
		}, apperr.Invalid},
		"no addressee": {caller, notify.Trigger{
			Gateway: "fcm", TypeID: 2, Context: []byte(`{"lab_id":12,"lrr_id":7001,"laboratory":false}`),
		}, apperr.Invalid},
		"no addressee of the type": {caller, notify.Trigger{
			Gateway: "fcm", TypeID: 1, Context: []byte(`{"lab_id":12,"doctor_id":301,"laboratory":false}`),
		}, apperr.Invalid},
		"an escalation without the laboratory": {caller, notify.Trigger{
			Gateway: "fcm", TypeID: 2, Context: []byte(`{"lab_id":12,"escalation":1,"laboratory":false}`),
		}, apperr.Invalid},
		"a laboratory that is a number": {caller, notify.Trigger{
			Gateway: "fcm", TypeID: 2, Context: []byte(`{"lab_id":12,"laboratory":12}`),
		}, apperr.Invalid},
		"a context of 1 MiB":     {caller, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: make([]byte, 1<<20)}, apperr.Invalid},
		"a title that is a list": {caller, notify.Trigger{Gateway: "fcm", TypeID: 2, Context: []byte(`{"lab_id":12,"title":[]}`)}, apperr.Invalid},
	} {
		_, err := f.Notify(t.Context(), c.p, c.t)
		var refused *apperr.Error
		if !errors.As(err, &refused) || refused.Kind != c.want {
			t.Errorf("%s: %v, want kind %v", name, err, c.want)
		}
	}
	if len(f.inbox()) != 0 || len(f.Events()) != 0 || f.woken != 0 {
		t.Errorf("inbox %v, outbox %v, relay woken %d times; want none", f.inbox(), f.Events(), f.woken)
	}
}

// TestADeviceOfARemovedUserReachesNoOne: the only device of the laboratory belongs to a user who was removed from its
// list of users. The device still gets the push, and the response states that no device of the laboratory exists.
func TestADeviceOfARemovedUserReachesNoOne(t *testing.T) {
	t.Parallel()
	f := open(t)
	asha := storetest.User(t, 12, 77)
	topic := storetest.Names.Of(asha.Lab, notification.CriticalReport, notification.Ref{Kind: notification.RefLab, ID: 12})
	f.Exec("INSERT INTO FcmDevices (token, lab_id, user_type, lab_user_id, topics, last_activity, created_at)"+
		" VALUES ('T', 12, 'lab_user', 77, JSON_ARRAY(?), 1, 1)", topic[0])
	service := authn.Principal{Kind: authn.Service}
	want := func(what string, want notification.Unreachable) {
		t.Helper()
		got, err := f.Reach(t.Context(), service, 12, notification.CriticalReport)
		if err != nil || got != want {
			t.Errorf("%s: reach is %q, %v; want %q", what, got, err, want)
		}
		result, err := f.Notify(t.Context(), service, notify.Trigger{
			Gateway: notify.Gateway, TypeID: notification.CriticalReport, Context: []byte(`{"lab_id":12,"lrr_id":7001}`),
		})
		if err != nil || result.Unreachable != want || result.Topic != topic[0] {
			t.Errorf("%s: the notice is %+v, %v; want unreachable %q and topic %s", what, result, err, want, topic[0])
		}
	}
	want("Asha works here", "")
	f.Exec("DELETE FROM labUser WHERE id = 77")
	want("Asha was removed", notification.NoDevice)
	f.Exec("DELETE FROM labUser WHERE labId_id = 12")
	want("an installation without a list of users", "")
}
