package preference

import (
	"errors"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
)

func TestAccessToTheSettingsOfAUser(t *testing.T) {
	t.Parallel()
	user := authn.Principal{SessionType: authn.LabUser, LabUserID: 77}
	support, global := user, user
	support.SessionType, global.IsGlobalAdmin = authn.Support, true
	for name, c := range map[string]struct {
		caller authn.Principal
		facts  facts
		userID int64
		want   error
	}{
		"a user's own":                        {user, facts{}, 77, nil},
		"another user's":                      {user, facts{userExists: true}, 78, errOthers},
		"an administrator":                    {user, facts{callerAdmin: true, userExists: true}, 78, nil},
		"an administrator, no such user":      {user, facts{callerAdmin: true}, 78, errNoUser},
		"a global administrator":              {global, facts{userExists: true}, 78, nil},
		"a global administrator, no user":     {global, facts{}, 78, errNoUser},
		"support, number of a user":           {support, facts{userExists: true}, 77, errOthers},
		"support, number of an administrator": {support, facts{callerAdmin: true, userExists: true}, 78, errOthers},
	} {
		if err := c.facts.admit(c.caller, c.userID); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
