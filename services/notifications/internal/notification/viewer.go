package notification

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// Audience selects the notifications of a laboratory that a viewer may see.
type Audience int

// Audiences and the logins that have them.
const (
	NoAudience      Audience = iota // logins to which nothing can be addressed
	WholeLab                        // lab users
	OneOrganization                 // logins of an organization
	OneDoctor
)

// Viewer is the login whose inbox is read. It is made from a Principal or a LabScope, so a query with a Viewer is
// limited to one laboratory.
type Viewer struct {
	Lab      authn.LabScope
	Audience Audience
	// Type and ID identify the viewer in activities and as the owner of devices. ID also limits the audience.
	Type     string
	ID       int64
	Name     string
	Username string
}

var errNoUser = apperr.New(apperr.Invalid, "NO_USER", "The session names no user; log in again")

// ViewerOf returns the caller as a viewer. It rejects a login without a laboratory or without a user.
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
	case authn.Support: // its number is of another table, and would be taken for a lab user's
		v.Type, v.ID, v.Audience = "support", p.LabUserID, NoAudience
	default:
		v.Type, v.ID, v.Audience = "cc", p.CCID, NoAudience
	}
	if v.ID == 0 {
		return Viewer{}, errNoUser
	}
	return v, nil
}

// Login identifies the login in read states, switches and devices. Each login of an organization has its own id, a
// digest of its user name, because the columns are only 16 characters wide.
func (v Viewer) Login() (kind string, id int64) {
	if v.Audience != OneOrganization || v.Username == "" {
		return v.Type, v.ID
	}
	sum := sha256.Sum256([]byte(v.Username))
	return "org:" + hex.EncodeToString(sum[:6]), v.ID
}

// HasTopics reports whether devices of the login have topics.
func (v Viewer) HasTopics() bool { return v.Audience != NoAudience }

// UserViewer returns a lab user as a viewer without a session, for background work.
func UserViewer(lab authn.LabScope, userID int64) Viewer {
	return Viewer{Lab: lab, Audience: WholeLab, Type: "lab_user", ID: userID}
}

// OrganizationViewer returns a login of an organization as a viewer without a session, for background work.
func OrganizationViewer(lab authn.LabScope, orgID int64, username string) Viewer {
	return Viewer{Lab: lab, Audience: OneOrganization, Type: "org", ID: orgID, Username: username}
}
