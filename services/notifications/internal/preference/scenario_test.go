package preference_test

import (
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/delivery"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

const (
	reports  = "IN_notification_type_1_org_45"
	critical = "IN_notification_type_2_org_45"
)

// TestEachLoginOfAnOrganisationHasItsOwnSwitches uses two wards of a hospital that share its notifications. The north
// ward switches ready reports off. The south ward still gets them, and so does lab user 45, whose id is that of the
// hospital. A mandatory type stays on, and the laboratory's switch takes precedence over those of its logins.
func TestEachLoginOfAnOrganisationHasItsOwnSwitches(t *testing.T) {
	t.Parallel()
	store := storetest.Open(t)
	store.Exec("UPDATE NotificationTypesMaster SET is_mandatory = 1 WHERE id = 2")
	store.Exec("INSERT INTO labUser (id, labId_id, username, isAdmin) VALUES (45, 12, 'user', 0)")
	devices := device.New(device.Deps{
		Reader: store, Writer: store, Topics: device.Accepting{}, Names: storetest.Names, Clock: store.Clock,
		Evictor: store, Observer: storetest.Uncounted{},
	})
	preferences := preference.New(store, delivery.Messages{}, store.Clock, "", func() {})
	ward := func(name string) authn.Principal {
		return authn.Principal{
			Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 45, Username: name, LabUserID: 77,
		}
	}
	viewer := func(p authn.Principal) notification.Viewer { return storetest.Viewer(t, p) }
	subscribe := func(p authn.Principal, token string) {
		t.Helper()
		if _, err := devices.Subscribe(t.Context(), viewer(p), device.Device{Token: token}); err != nil {
			t.Fatal(err)
		}
	}
	wantTopics := func(p authn.Principal, token string, want ...string) {
		t.Helper()
		lists, found, err := store.Find(t.Context(), viewer(p), token)
		if err != nil || !found || !slices.Equal(lists.Confirmed, want) || len(lists.Pending) > 0 {
			t.Errorf("%s has topics %v, found %v, %v; want %v", token, lists, found, err, want)
		}
	}
	delivered := 0
	set := func(p authn.Principal, id int64, text string) []int64 {
		t.Helper()
		list, err := preferences.Set(t.Context(), p, id, text)
		if err != nil {
			t.Fatal(err)
		}
		dispatcher := delivery.Dispatcher{Devices: devices}
		for _, e := range store.Events()[delivered:] {
			if err := dispatcher.Receivers()[e.Kind](t.Context(), outbox.Row{Payload: e.Payload}); err != nil {
				t.Fatal(err)
			}
			delivered++
		}
		return disabled(list)
	}
	north, south, asha := ward("north"), ward("south"), user(12, 45)
	subscribe(north, "north-1")
	subscribe(north, "north-2")
	subscribe(south, "south-1")
	wantTopics(north, "north-1", reports, critical)

	if off := set(north, 45, `[{"id":1,"is_disabled":1},{"id":2,"is_disabled":1}]`); !slices.Equal(off, []int64{1}) {
		t.Errorf("the north ward has types %v off, want type 1", off)
	}
	wantTopics(north, "north-1", critical)
	wantTopics(north, "north-2", critical)
	wantTopics(south, "south-1", reports, critical)
	for name, p := range map[string]authn.Principal{"the other ward": south, "the lab user of the same number": asha} {
		if list, err := preferences.Of(t.Context(), p, 45); err != nil || len(disabled(list)) != 0 {
			t.Errorf("%s has types %v off, %v; want none", name, disabled(list), err)
		}
	}
	subscribe(north, "north-3") // a new device gets the login's switches
	wantTopics(north, "north-3", critical)
	subscribe(south, "north-1") // a device that changes its login gets the new login's switches
	wantTopics(south, "north-1", reports, critical)

	set(south, 45, `[{"id":1,"is_disabled":1}]`)
	set(north, 45, `[{"id":1,"is_disabled":0}]`)
	wantTopics(north, "north-2", reports, critical)
	wantTopics(south, "south-1", critical)
	wantTopics(south, "north-1", critical)

	lab, _ := asha.Scope(0)
	if err := preferences.SetKinds(t.Context(), lab, []notification.Switch{{TypeID: 1, Disabled: true}}, 79); err != nil {
		t.Fatal(err)
	}
	subscribe(north, "north-2")
	wantTopics(north, "north-2", critical)
	for name, id := range map[string]int64{"another organisation's": 46, "a lab user's with the session's number": 77} {
		_, err := preferences.Of(t.Context(), north, id)
		wantKind(t, name, err, apperr.Forbidden)
	}
}
