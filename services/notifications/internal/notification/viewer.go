package notification

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// Audience is which notifications of a laboratory a viewer sees.
type Audience int

// The audiences.
const (
	Nobody          Audience = iota // a login to whom nothing can be addressed
	WholeLab                        // lab users
	OneOrganization                 // logins of an organization
	OneDoctor
	OneUser // others: what is addressed to them
)

// Viewer is who looks at the inbox. It can only be made from a Principal, so a query with one is scoped.
type Viewer struct {
	Lab      authn.LabScope
	Audience Audience
	// Type and ID name the viewer in activities and as the owner of devices; ID is also what the audience is limited to.
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
		v.Type, v.ID, v.Audience = "cc", p.CCID, Nobody
	}
	if v.ID == 0 {
		return Viewer{}, errNoUser
	}
	return v, nil
}

// Login names the login in read states, switches and devices: each login of an organisation has its own, and what the
// session says of it is its name. The columns hold 16 characters.
func (v Viewer) Login() (kind string, id int64) {
	if v.Audience != OneOrganization || v.Username == "" {
		return v.Type, v.ID
	}
	sum := sha256.Sum256([]byte(v.Username))
	return "org:" + hex.EncodeToString(sum[:6]), v.ID
}

// HasTopics reports whether devices of the login are told anything. The number of a support login is that of another
// table, and would be taken for a lab user's.
func (v Viewer) HasTopics() bool { return v.Audience != Nobody && v.Audience != OneUser }

// UserViewer is a lab user for whom the platform works on its own.
func UserViewer(lab authn.LabScope, userID int64) Viewer {
	return Viewer{Lab: lab, Audience: WholeLab, Type: "lab_user", ID: userID}
}

// OrganizationViewer is a login of an organisation for which the platform works on its own.
func OrganizationViewer(lab authn.LabScope, orgID int64, username string) Viewer {
	return Viewer{Lab: lab, Audience: OneOrganization, Type: "org", ID: orgID, Username: username}
}
