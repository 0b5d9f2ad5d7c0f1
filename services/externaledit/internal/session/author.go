package session

import "github.com/labplatform/labplatform/pkg/authn"

// Permissions of authors.
const (
	PermissionEdit     = "report_edit"
	PermissionTakeOver = "report_edit_takeover"
)

// Author is the laboratory user or the doctor who holds a session.
type Author struct {
	ID       int64
	Name     string
	IsDoctor bool // ID is a doctor's
}

// Is reports whether both are the same person, whatever the name is now.
func (a Author) Is(other Author) bool { return a.ID == other.ID && a.IsDoctor == other.IsDoctor }

// Actor is the author in the activity log.
func (a Author) Actor() authn.Actor {
	kind := authn.ActorLabUser
	if a.IsDoctor {
		kind = authn.ActorDoctor
	}
	return authn.Actor{Kind: kind, ID: a.ID, Name: a.Name}
}
