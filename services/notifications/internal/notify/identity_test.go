package notify_test

import (
	"errors"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// others are triggers that differ from the trigger critical in one part of their identity.
var others = map[string]notify.Trigger{
	"another type":           {TypeID: 1, Context: []byte(critical)},
	"another organisation":   {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":46,"lrr_id":7001}`)},
	"a doctor":               {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7001,"doctor_id":301}`)},
	"without the laboratory": {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7001,"laboratory":false}`)},
	"another report":         {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7002}`)},
	"a bill":                 {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"bill_id":7001}`)},
	"a correction":           {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7001,"corrected":true}`)},
	"an unclear value":       {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7001,"escalation":1,"unclear":true}`)},
	"an unconfirmed value":   {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7001,"escalation":1,"unconfirmed":true}`)},
	"the first escalation":   {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7001,"escalation":1}`)},
	"the second escalation":  {TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7001,"escalation":2}`)},
}

// TestAKeyOfAnotherNotificationIsRefused repeats a key with each part of its identity changed. Nothing is written. The
// bill of a report is not a part, because a report may move to another bill between two attempts.
func TestAKeyOfAnotherNotificationIsRefused(t *testing.T) {
	t.Parallel()
	f := open(t)
	first := f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical), IdempotencyKey: new("report-7001")})
	for name, other := range others {
		other.Gateway, other.IdempotencyKey = notify.Gateway, new("report-7001")
		if _, err := f.Notify(t.Context(), caller, other); !errors.Is(err, notify.ErrKeyReused) {
			t.Errorf("%s: %v, want ErrKeyReused", name, err)
		}
	}
	for name, context := range map[string]string{
		"the same":                     critical,
		"written in another way":       ` {"lrr_id":"7001","org_id":45,"lab_id":12,"laboratory":true,"escalation":0}`,
		"with another bill and title":  `{"lab_id":12,"org_id":45,"lrr_id":7001,"bill_id":9,"title":"Other"}`,
		"with the default of a switch": `{"lab_id":12,"org_id":45,"lrr_id":7001,"corrected":false}`,
	} {
		got := f.notify(notify.Trigger{TypeID: 2, Context: []byte(context), IdempotencyKey: new("report-7001")})
		if got.Outcome != notify.Repeated || got.NotificationID != first.NotificationID || got.Topic != first.Topic {
			t.Errorf("%s: %+v, want notification %d repeated", name, got, first.NotificationID)
		}
	}
	if inbox, events := len(f.inbox()), len(f.Events()); inbox != 1 || events != 1 {
		t.Errorf("%d in the inbox, %d in the outbox; want 1", inbox, events)
	}
	elsewhere := f.notify(notify.Trigger{
		TypeID: 2, Context: []byte(`{"lab_id":13,"lrr_id":7001}`), IdempotencyKey: new("report-7001"),
	})
	if elsewhere.Outcome != notify.Stored {
		t.Errorf("the key in another laboratory: %+v, want it stored", elsewhere)
	}
}

func TestOtherNewsOfTheSameMinuteIsNoRepeat(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.notify(notify.Trigger{TypeID: 2, Context: []byte(critical)})
	for name, other := range others {
		if got := f.notify(other); got.Outcome != notify.Stored {
			t.Errorf("%s: %+v, want it stored", name, got)
		}
		if got := f.notify(other); got.Outcome != notify.Repeated {
			t.Errorf("%s again: %+v, want it repeated", name, got)
		}
	}
	if inbox := len(f.inbox()); inbox != 1+len(others) {
		t.Errorf("%d in the inbox, want %d", inbox, 1+len(others))
	}
}

// TestReach checks the reported reach of critical notices while devices, the laboratory's switch and the deployment
// change.
func TestReach(t *testing.T) {
	t.Parallel()
	f := open(t)
	lab := storetest.User(t, 12, 77).Lab
	want := func(name string, laboratory, organization notification.Unreachable) {
		t.Helper()
		if got, err := f.Reach(t.Context(), caller, 12, 2); got != laboratory || err != nil {
			t.Errorf("%s: the laboratory is %q, %v; want %q", name, got, err, laboratory)
		}
		f.Clock.Advance(1e11)
		got := f.notify(notify.Trigger{TypeID: 2, Context: []byte(`{"lab_id":12,"org_id":45,"lrr_id":7001,"laboratory":false}`)})
		if got.Unreachable != organization {
			t.Errorf("%s: the organisation is %q, want %q", name, got.Unreachable, organization)
		}
	}
	want("no device", notification.NoDevice, notification.NoDevice)
	subscribe := func(v notification.Viewer, token string) {
		t.Helper()
		devices := device.New(device.Deps{
			Reader: f, Writer: f, Topics: device.Accepting{}, Names: storetest.Names, Clock: f.Clock, Evictor: f,
			Observer: storetest.Uncounted{},
		})
		if _, err := devices.Subscribe(t.Context(), v, device.Device{Token: token}); err != nil {
			t.Fatal(err)
		}
	}
	subscribe(storetest.User(t, 13, 87), "other")
	subscribe(storetest.Viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45}), "org")
	want("a device of the organisation", notification.NoDevice, "")
	subscribe(storetest.User(t, 12, 77), "asha")
	want("a device of a lab user", "", "")
	f.Exec("UPDATE FcmDevices SET pending_topics = topics, topics = '[]' WHERE token = 'asha'")
	want("topics that the provider may lack", notification.NoDevice, "")
	f.Exec("UPDATE FcmDevices SET topics = pending_topics WHERE token = 'asha'")
	f.waits = true
	want("the task queue has no provider", notification.Waits, notification.Waits)
	f.pushOff = true
	f.Notifier = f.over(f.Database)
	before := len(f.pushes)
	want("no push provider", notification.PushOff, notification.PushOff)
	if n := len(f.pushes) - before; n != 0 {
		t.Errorf("no push provider: %d pushes are kept, want none", n)
	}
	f.disable(2)
	want("the type is off", notification.TypeOff, notification.TypeOff)
	if _, err := f.Reach(t.Context(), caller, lab.LabID(), 9); !errors.Is(err, notification.ErrNoType) {
		t.Errorf("an unknown type: %v, want ErrNoType", err)
	}
	if _, err := f.Reach(t.Context(), caller, 0, 2); err == nil {
		t.Error("no laboratory is accepted, want it refused")
	}
}
