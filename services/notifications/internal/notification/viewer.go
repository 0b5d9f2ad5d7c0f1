package notification

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// Audience selects the notifications of a laboratory that a viewer sees.
type Audience int

// The audiences.
const (
	NoAudience      Audience = iota // a login to which nothing can be addressed
	WholeLab                        // lab users
	OneOrganization                 // logins of an organization
	OneDoctor
	OneUser // other logins: what is addressed to them
)

// Viewer is the login that an inbox is shown to. It is made from a Principal or a LabScope, so a query with one is
// scoped.
type Viewer struct {
	Lab      authn.LabScope
	Audience Audience
	// Type and ID name the viewer in activities and as the owner of devices; ID also limits the audience.
	Type     string
	ID       int64
	Name     string
	Username string
}

var errNoUser = apperr.New(apperr.Invalid, "NO_USER", "The session names no user; log in again")

// ViewerOf returns the caller as a viewer. A login without a laboratory or without a user is refused.
func ViewerOf(p authn.Principal) (Viewer, error) {
	if p.Kind != authn.Session && p.Kind != authn.Bearer {
		return Viewer{}, apperr.New(apperr.Forbidden, "USERS_ONLY", "The inbox belongs to users; log in")
	}
	lab, err := p.Scope(0)
	if err != nil {
		return Viewer{}, err
	}
	v := Viewer{Lab: lab, Name: p.FullName, Username: p.Username}
	switch p.SessionType {
	case authn.LabUser:
		v.Type, v.ID, v.Audience = "lab_user", p.LabUserID, WholeLab
	case authn.Organization:
		v.Type, v.ID, v.Audience = "org", p.OrgID, OneOrganization
	case authn.Doctor:
		v.Type, v.ID, v.Audience = "doctor", p.DoctorID, OneDoctor
	case authn.Support:
		v.Type, v.ID, v.Audience = "support", p.LabUserID, OneUser
	default:
		v.Type, v.ID, v.Audience = "cc", p.CCID, NoAudience
	}
	if v.ID == 0 {
		return Viewer{}, errNoUser
	}
	return v, nil
}

// Login names the login in read states, switches and devices. Each login of an organisation has its own, named by a
// digest of its user name, because the columns hold 16 characters.
func (v Viewer) Login() (kind string, id int64) {
	if v.Audience != OneOrganization || v.Username == "" {
		return v.Type, v.ID
	}
	sum := sha256.Sum256([]byte(v.Username))
	return "org:" + hex.EncodeToString(sum[:6]), v.ID
}

// HasTopics reports whether devices of the login have topics. The number of a support login is of another table and
// would be taken for a lab user's.
func (v Viewer) HasTopics() bool { return v.Audience != NoAudience && v.Audience != OneUser }

// UserViewer returns a lab user without a session, for work in the background.
func UserViewer(lab authn.LabScope, userID int64) Viewer {
	return Viewer{Lab: lab, Audience: WholeLab, Type: "lab_user", ID: userID}
}

// OrganizationViewer returns a login of an organisation without a session, for work in the background.
func OrganizationViewer(lab authn.LabScope, orgID int64, username string) Viewer {
	return Viewer{Lab: lab, Audience: OneOrganization, Type: "org", ID: orgID, Username: username}
}
