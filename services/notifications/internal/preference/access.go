package preference

import (
	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

var (
	errNoUser      = apperr.New(apperr.NotFound, "USER_NOT_FOUND", "There is no such user in this laboratory")
	errNotSwitched = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
		"Notification types are switched by administrators of the laboratory and users whom they permit it; ask one of them")
	errOthers = apperr.New(apperr.Forbidden, "NOT_YOUR_PREFERENCES",
		"These are another user's preferences; an administrator of the laboratory may change them")
)

// facts are the entries of the laboratory's list of users on which access to a user's preferences depends.
type facts struct {
	callerAdmin bool // the list has the caller's id as an administrator
	userExists  bool
}

// admit returns an error unless the caller may read and write the preferences of a lab user.
func (f facts) admit(caller authn.Principal, userID int64) error {
	labUser := caller.SessionType == authn.LabUser
	admin := caller.IsGlobalAdmin || labUser && f.callerAdmin
	switch {
	case labUser && caller.LabUserID == userID:
		return nil
	case !admin:
		return errOthers
	case !f.userExists:
		return errNoUser
	}
	return nil
}
