package preference_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
)

type messages struct{}

func (messages) Resubscribe(v notification.Viewer) (outbox.Event, error) {
	return outbox.Event{Aggregate: fmt.Sprint("user:", v.ID)}, nil
}

type bench struct {
	*preference.Preferences
	store *memory.Store
	woken int
}

func newBench() *bench {
	b := &bench{store: memory.New()}
	b.Preferences = preference.New(b.store, messages{}, clock.System{}, "notification_configure", func() { b.woken++ })
	return b
}

// asha is a lab user; the store has her, the administrator 79 of her laboratory, and 87 of another.
var asha = user(12, 77)

func user(lab, id int64) authn.Principal {
	return authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: lab, LabUserID: id}
}

// disabled returns the types that a user does not get.
func disabled(list []notification.Preference) (ids []int64) {
	for _, p := range list {
		if p.Effective() {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func TestWhoMaySwitchTypesForTheLaboratory(t *testing.T) {
	t.Parallel()
	b := newBench()
	permitted, global, support, elsewhere := asha, asha, user(12, 79), user(13, 79)
	permitted.Permissions = []string{"notification_configure"}
	global.IsGlobalAdmin = true
	support.SessionType, support.Permissions = authn.Support, permitted.Permissions
	for name, p := range map[string]authn.Principal{"an administrator": user(12, 79), "who has the permission": permitted, "a global administrator": global} {
		if err := b.MaySwitch(t.Context(), p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, p := range map[string]authn.Principal{"a lab user": asha, "support with an administrator's number": support,
		"another laboratory's user with an administrator's number": elsewhere} {
		wantKind(t, name, b.MaySwitch(t.Context(), p), apperr.Forbidden)
	}
}

func wantKind(t *testing.T, name string, err error, want apperr.Kind) {
	t.Helper()
	var refused *apperr.Error
	if !errors.As(err, &refused) || refused.Kind != want {
		t.Errorf("%s: %v", name, err)
	}
}

func TestAUserSwitchesTypesAndTheDevicesFollow(t *testing.T) {
	t.Parallel()
	b := newBench()
	for text, want := range map[string][]int64{
		`[{"id":1,"is_disabled":1}]`:                             {1},
		`[{"id":"1","is_disabled":"true"}]`:                      {1},
		`[{"id":1,"is_disabled":false}]`:                         nil,
		`[{"id":1,"is_disabled":"0"}, {"id":2,"is_disabled":0}]`: nil,
	} {
		list, err := b.Set(t.Context(), asha, 77, text)
		if diff := cmp.Diff(want, disabled(list)); err != nil || diff != "" || len(list) != 2 {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	if events := b.store.Events(); len(events) != 4 || events[0].Aggregate != "user:77" || b.woken != 4 {
		t.Errorf("%v, relay woken %d times", events, b.woken)
	}
}

func TestAMandatoryTypeStaysOn(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.store.Types[1].Mandatory = true
	list, err := b.Set(t.Context(), asha, 77, `[{"id":1,"is_disabled":1},{"id":2,"is_disabled":1}]`)
	if diff := cmp.Diff([]int64{1}, disabled(list)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestBadPreferencesStoreNothing(t *testing.T) {
	t.Parallel()
	b := newBench()
	for _, text := range []string{
		"", "null", "yes", `{"id":1}`, "[]", `[{"id":1}]`, `[{"is_disabled":1}]`, `[{"id":1,"is_disabled":2}]`, `[{"id":-1,"is_disabled":1}]`,
		`[{"id":999,"is_disabled":1}]`, `[{"id":1,"is_disabled":1},{"id":1,"is_disabled":0}]`, `[{"id":1,"is_disabled":1},{"id":999,"is_disabled":1}]`,
	} {
		_, err := b.Set(t.Context(), asha, 77, text)
		wantKind(t, text, err, apperr.Invalid)
	}
	list, err := b.Of(t.Context(), asha, 77)
	if err != nil || disabled(list) != nil || len(b.store.Events()) != 0 || b.woken != 0 {
		t.Errorf("%v %v, outbox %v", list, err, b.store.Events())
	}
}

func TestWhoTouchesWhosePreferences(t *testing.T) {
	t.Parallel()
	b := newBench()
	doctor := authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, LabUserID: 77, DoctorID: 301}
	for name, c := range map[string]struct {
		caller authn.Principal
		id     int64
		want   apperr.Kind
	}{
		"another user's":                         {asha, 79, apperr.Forbidden},
		"a doctor with the number of a user":     {doctor, 77, apperr.Forbidden},
		"an administrator in another laboratory": {user(12, 79), 87, apperr.NotFound},
		"nobody's":                               {asha, 0, apperr.Invalid},
	} {
		_, err := b.Of(t.Context(), c.caller, c.id)
		wantKind(t, name, err, c.want)
		_, err = b.Set(t.Context(), c.caller, c.id, `[{"id":1,"is_disabled":1}]`)
		wantKind(t, name, err, c.want)
	}
	if _, err := b.Set(t.Context(), user(12, 79), 77, `[{"id":1,"is_disabled":1}]`); err != nil {
		t.Errorf("an administrator: %v", err)
	}
}

func TestWhatTheLaboratorySwitchedOffIsNotOffered(t *testing.T) {
	t.Parallel()
	b := newBench()
	lab, err := asha.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, "an empty list", b.SetKinds(t.Context(), lab, nil, 77), apperr.Invalid)
	if err := b.SetKinds(t.Context(), lab, []notification.Switch{{TypeID: 1, Disabled: true}}, 77); err != nil {
		t.Fatal(err)
	}
	for caller, want := range map[*authn.Principal]int{&asha: 1, new(user(13, 87)): 2} {
		if list, err := b.Of(t.Context(), *caller, caller.LabUserID); err != nil || len(list) != want {
			t.Errorf("laboratory %d: %v %v", caller.LabID, list, err)
		}
	}
}
