package mysql_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

func off(typeID int64) notification.Switch {
	return notification.Switch{TypeID: typeID, Disabled: true}
}

// wanted returns the types that are on for the login.
func wanted(t *testing.T, s *storetest.Database, v notification.Viewer) (ids []int64) {
	t.Helper()
	list, err := s.Preferences(t.Context(), v)
	must(t, err)
	for _, p := range list {
		if !p.Effective() {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func wantTypes(t *testing.T, s *storetest.Database, v notification.Viewer, want ...int64) {
	t.Helper()
	if got := wanted(t, s, v); !slices.Equal(got, want) {
		t.Errorf("%s %d gets types %v, want %v", v.Type, v.ID, got, want)
	}
}

func TestSwitchesOfLaboratoryAndUser(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v, ctx := user(t, 12, 77), t.Context()
	wantTypes(t, s, v, 1, 2)
	after, _ := event(1)
	must(t, s.SetPreferences(ctx, v, []notification.Switch{off(1)}, after, start))
	must(t, s.SetPreferences(ctx, v, []notification.Switch{off(1), {TypeID: 2}}, after, start))
	wantTypes(t, s, v, 2)
	if n := len(s.Events()); n != 2 {
		t.Errorf("%d messages in the outbox, want one for each change", n)
	}
	must(t, s.SetKinds(ctx, v.Lab, []notification.Switch{off(2)}, 79, start))
	wantTypes(t, s, v) // the laboratory's switch takes precedence over the user's
	if k, err := s.Kind(ctx, v.Lab, 2); err != nil || !k.Disabled {
		t.Errorf("type 2 of laboratory 12: %+v, %v; want it disabled", k, err)
	}
	if k, err := s.Kind(ctx, user(t, 13, 87).Lab, 2); err != nil || k.Disabled {
		t.Errorf("type 2 of laboratory 13: %+v, %v; want it enabled", k, err)
	}
	if _, err := s.Kind(ctx, v.Lab, 999); !errors.Is(err, notification.ErrNoType) {
		t.Errorf("type 999: %v, want ErrNoType", err)
	}
	s.Exec("UPDATE NotificationTypesMaster SET is_active = 0 WHERE id = 2")
	if _, err := s.Kind(ctx, v.Lab, 2); !errors.Is(err, notification.ErrTypeInactive) {
		t.Errorf("type 2, which the operator switched off: %v, want ErrTypeInactive", err)
	}
}

func TestAMandatoryTypeIsOnWhateverTheSwitchesSay(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v, ctx := user(t, 12, 77), t.Context()
	s.Exec("UPDATE NotificationTypesMaster SET is_mandatory = 1 WHERE id = 2")
	after, _ := event(1)
	must(t, s.SetKinds(ctx, v.Lab, []notification.Switch{off(2)}, 79, start))
	must(t, s.SetPreferences(ctx, v, []notification.Switch{off(1), off(2)}, after, start))
	wantTypes(t, s, v, 2)
	if k, err := s.Kind(ctx, v.Lab, 2); err != nil || k.Disabled || !k.Mandatory {
		t.Errorf("type 2: %+v, %v; want it mandatory and enabled", k, err)
	}
}

func TestUsersOfALaboratory(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for id, want := range map[int64][2]bool{77: {true, false}, 79: {true, true}, 87: {}, 999: {}} {
		exists, admin, err := s.User(t.Context(), user(t, 12, 77).Lab, id)
		if got := [2]bool{exists, admin}; err != nil || got != want {
			t.Errorf("user %d exists, administers: %v, %v; want %v", id, got, err, want)
		}
	}
}

// TestLoginsOfOneOrganisationAreSeparate uses two wards of organization 77, and lab user 77. Each login must have its
// own switches and devices.
func TestLoginsOfOneOrganisationAreSeparate(t *testing.T) {
	t.Parallel()
	s, ctx := storetest.Open(t), t.Context()
	ward := func(name string) notification.Viewer {
		return viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 77, Username: name})
	}
	north, south, asha := ward("north"), ward("south"), user(t, 12, 77)
	after, _ := event(1)
	for range 2 {
		must(t, s.SetPreferences(ctx, north, []notification.Switch{off(1)}, after, start))
	}
	must(t, s.SetPreferences(ctx, asha, []notification.Switch{off(2)}, after, start))
	logins := map[string]notification.Viewer{"N": north, "S": south, "A": asha}
	for token, v := range logins {
		_, err := s.Claim(ctx, v, device.Device{Token: token}, start)
		must(t, err)
	}
	wantTypes(t, s, north, 2)
	wantTypes(t, s, south, 1, 2)
	wantTypes(t, s, asha, 1)
	for token, v := range logins {
		devices, err := s.OfLogin(ctx, v)
		if err != nil || len(devices) != 1 || devices[0].Token != token {
			t.Errorf("the login of token %s has devices %v, %v; want this one only", token, devices, err)
		}
		for other, v := range logins {
			if _, found, err := s.Find(ctx, v, token); found != (other == token) || err != nil {
				t.Errorf("the login of token %s finds %s: %v, %v", other, token, found, err)
			}
		}
	}
}
