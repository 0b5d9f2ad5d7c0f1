package preference_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

type messages struct{}

func (messages) Resubscribe(v notification.Viewer) (outbox.Event, error) {
	return outbox.Event{Aggregate: fmt.Sprint("user:", v.ID)}, nil
}

// fixture contains the use case with its dependencies.
type fixture struct {
	*preference.Preferences

	store *storetest.Database
	woken int // number of wake-ups of the relay
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{store: storetest.Open(t)}
	f.Preferences = f.over(f.store)
	return f
}

func (f *fixture) over(s preference.Store) *preference.Preferences {
	return preference.New(s, messages{}, f.store.Clock, "notification_configure", func() { f.woken++ })
}

// asha is lab user 77. User 79 is an administrator of her laboratory; user 87 belongs to another one.
var asha = user(12, 77)

func user(lab, id int64) authn.Principal {
	return authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: lab, LabUserID: id}
}

// disabled returns the types that are off for a user.
func disabled(list []notification.Preference) (ids []int64) {
	for _, p := range list {
		if p.Effective() {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func TestAdministratorsAndPermittedUsersSwitchTypesForTheLaboratory(t *testing.T) {
	t.Parallel()
	f := open(t)
	permitted, global, support, elsewhere := asha, asha, user(12, 79), user(13, 79)
	permitted.Permissions = []string{"notification_configure"}
	global.IsGlobalAdmin = true
	support.SessionType, support.Permissions = authn.Support, permitted.Permissions
	for name, p := range map[string]authn.Principal{
		"an administrator": user(12, 79), "a permitted user": permitted, "a global administrator": global,
	} {
		if err := f.MaySwitch(t.Context(), p); err != nil {
			t.Errorf("%s: %v, want no error", name, err)
		}
	}
	for name, p := range map[string]authn.Principal{
		"a lab user": asha, "support with an administrator's number": support,
		"another laboratory's user with an administrator's number": elsewhere,
	} {
		wantKind(t, name, f.MaySwitch(t.Context(), p), apperr.Forbidden)
	}
}

func wantKind(t *testing.T, name string, err error, want apperr.Kind) {
	t.Helper()
	var refused *apperr.Error
	if !errors.As(err, &refused) || refused.Kind != want {
		t.Errorf("%s: %v, want kind %v", name, err, want)
	}
}

func TestAUsersSwitchesAreStoredWithAMessageForTheDevices(t *testing.T) {
	t.Parallel()
	f := open(t)
	for text, want := range map[string][]int64{
		`[{"id":1,"is_disabled":1}]`:                             {1},
		`[{"id":"1","is_disabled":"true"}]`:                      {1},
		`[{"id":1,"is_disabled":false}]`:                         nil,
		`[{"id":1,"is_disabled":"0"}, {"id":2,"is_disabled":0}]`: nil,
	} {
		list, err := f.Set(t.Context(), asha, 77, text)
		if diff := cmp.Diff(want, disabled(list)); err != nil || diff != "" || len(list) != 2 {
			t.Errorf("%s: %v, %d types; disabled (-want +got): %s", text, err, len(list), diff)
		}
	}
	if events := f.store.Events(); len(events) != 4 || events[0].Aggregate != "user:77" || f.woken != 4 {
		t.Errorf("messages %v, relay woken %d times; want 4, of user:77 first", events, f.woken)
	}
}

func TestAMandatoryTypeStaysOn(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.store.Exec("UPDATE NotificationTypesMaster SET is_mandatory = 1 WHERE id = 2")
	list, err := f.Set(t.Context(), asha, 77, `[{"id":1,"is_disabled":1},{"id":2,"is_disabled":1}]`)
	if diff := cmp.Diff([]int64{1}, disabled(list)); err != nil || diff != "" {
		t.Errorf("set: %v; disabled (-want +got): %s", err, diff)
	}
}

func TestBadPreferencesStoreNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, text := range []string{
		"", "null", "yes", `{"id":1}`, "[]", `[{"id":1}]`, `[{"is_disabled":1}]`, `[{"id":1,"is_disabled":2}]`,
		`[{"id":-1,"is_disabled":1}]`, `[{"id":999,"is_disabled":1}]`, `[{"id":1,"is_disabled":1},{"id":1,"is_disabled":0}]`,
		`[{"id":1,"is_disabled":1},{"id":999,"is_disabled":1}]`,
	} {
		_, err := f.Set(t.Context(), asha, 77, text)
		wantKind(t, text, err, apperr.Invalid)
	}
	list, err := f.Of(t.Context(), asha, 77)
	if err != nil || disabled(list) != nil || len(f.store.Events()) != 0 || f.woken != 0 {
		t.Errorf("preferences %v, %v, outbox %v; want none disabled and no message", list, err, f.store.Events())
	}
}

func TestPreferencesBelongToTheirUserAndAdministrators(t *testing.T) {
	t.Parallel()
	f := open(t)
	doctor := authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, LabUserID: 77, DoctorID: 301}
	for name, c := range map[string]struct {
		caller authn.Principal
		id     int64
		want   apperr.Kind
	}{
		"another user's":                         {asha, 79, apperr.Forbidden},
		"a doctor with the number of a user":     {doctor, 77, apperr.Forbidden},
		"an administrator in another laboratory": {user(12, 79), 87, apperr.NotFound},
		"user 0":                                 {asha, 0, apperr.Invalid},
	} {
		_, err := f.Of(t.Context(), c.caller, c.id)
		wantKind(t, name, err, c.want)
		_, err = f.Set(t.Context(), c.caller, c.id, `[{"id":1,"is_disabled":1}]`)
		wantKind(t, name, err, c.want)
	}
	if _, err := f.Set(t.Context(), user(12, 79), 77, `[{"id":1,"is_disabled":1}]`); err != nil {
		t.Errorf("an administrator: %v, want no error", err)
	}
}

func TestTypesThatTheLaboratorySwitchedOffAreNotListed(t *testing.T) {
	t.Parallel()
	f := open(t)
	lab, err := asha.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, "an empty list", f.SetKinds(t.Context(), lab, nil, 77), apperr.Invalid)
	if err := f.SetKinds(t.Context(), lab, []notification.Switch{{TypeID: 1, Disabled: true}}, 77); err != nil {
		t.Fatal(err)
	}
	for caller, want := range map[*authn.Principal]int{&asha: 1, new(user(13, 87)): 2} {
		if list, err := f.Of(t.Context(), *caller, caller.LabUserID); err != nil || len(list) != want {
			t.Errorf("laboratory %d: %v, %v; want %d types", caller.LabID, list, err, want)
		}
	}
}
