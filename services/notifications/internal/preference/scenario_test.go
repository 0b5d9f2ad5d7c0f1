package preference_test

import (
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/delivery"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
)

const (
	reports  = "IN_notification_type_1_org_45"
	critical = "IN_notification_type_2_org_45"
)

// TestEachLoginOfAnOrganisationHasItsOwnSwitches: two wards of a hospital share its notifications. One does not want to
// hear of ready reports; the other does, and so does lab user 45, whose number is the hospital's. No one switches off
// what is mandatory, and the laboratory's switch is above everybody's.
func TestEachLoginOfAnOrganisationHasItsOwnSwitches(t *testing.T) {
	t.Parallel()
	store := memory.New()
	store.Types[1].Mandatory = true
	devices := device.New(store, device.Accepting{}, "IN", clock.System{})
	preferences := preference.New(store, delivery.Messages{}, clock.System{}, "", func() {})
	ward := func(name string) authn.Principal {
		return authn.Principal{
			Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 45, Username: name, LabUserID: 77,
		}
	}
	viewer := func(p authn.Principal) notification.Viewer {
		v, err := notification.ViewerOf(p)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	open := func(p authn.Principal, token string) {
		t.Helper()
		if _, err := devices.Subscribe(t.Context(), viewer(p), device.Device{Token: token}); err != nil {
			t.Fatal(err)
		}
	}
	hears := func(p authn.Principal, token string, want ...string) {
		t.Helper()
		lists, found, err := store.Find(t.Context(), viewer(p), token)
		if err != nil || !found || !slices.Equal(lists.Confirmed, want) || len(lists.Pending) > 0 {
			t.Errorf("%s hears %v, %v, %v; want %v", token, lists, found, err, want)
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
	store.Users[45] = memory.User{LabID: 12}
	open(north, "north-1")
	open(north, "north-2")
	open(south, "south-1")
	hears(north, "north-1", reports, critical)

	if off := set(north, 45, `[{"id":1,"is_disabled":1},{"id":2,"is_disabled":1}]`); !slices.Equal(off, []int64{1}) {
		t.Errorf("north has %v off", off)
	}
	hears(north, "north-1", critical)
	hears(north, "north-2", critical)
	hears(south, "south-1", reports, critical)
	for name, p := range map[string]authn.Principal{"the other ward": south, "the lab user of the same number": asha} {
		if list, err := preferences.Of(t.Context(), p, 45); err != nil || len(disabled(list)) != 0 {
			t.Errorf("%s has %v off, %v", name, disabled(list), err)
		}
	}
	open(north, "north-3") // a new device has the login's switches
	hears(north, "north-3", critical)
	open(south, "north-1") // and one that changes hands the new login's
	hears(south, "north-1", reports, critical)

	set(south, 45, `[{"id":1,"is_disabled":1}]`)
	set(north, 45, `[{"id":1,"is_disabled":0}]`)
	hears(north, "north-2", reports, critical)
	hears(south, "south-1", critical)
	hears(south, "north-1", critical)

	lab, _ := asha.Scope(0)
	if err := preferences.SetKinds(t.Context(), lab, []notification.Switch{{TypeID: 1, Disabled: true}}, 79); err != nil {
		t.Fatal(err)
	}
	open(north, "north-2")
	hears(north, "north-2", critical)
	for name, id := range map[string]int64{"another organisation's": 46, "a lab user's with the session's number": 77} {
		_, err := preferences.Of(t.Context(), north, id)
		wantKind(t, name, err, apperr.Forbidden)
	}
}
