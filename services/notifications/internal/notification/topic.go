package notification

import (
	"fmt"
	"regexp"
)

// Zone is the prefix of every topic: it separates deployments that share a push project.
type Zone string

var zonePattern = regexp.MustCompile(`^[A-Za-z0-9-_.~%]{1,16}$`)

// ParseZone returns the zone of that name and refuses characters that topics must not have.
func ParseZone(text string) (Zone, error) {
	if !zonePattern.MatchString(text) {
		return "", fmt.Errorf("%q must be 1 to 16 letters, digits or -_.~%%", text)
	}
	return Zone(text), nil
}

// Ref is the addressee of a topic.
type Ref struct {
	Kind string // org, lab, user or doctor
	ID   int64
}

// The kinds of refs.
const (
	RefOrg    = "org"
	RefLab    = "lab"
	RefUser   = "user"
	RefDoctor = "doctor"
)

// Topic returns the push topic of a type for a ref.
func (z Zone) Topic(typeID int64, ref Ref) string {
	return fmt.Sprintf("%s_notification_type_%d_%s_%d", z, typeID, ref.Kind, ref.ID)
}

// RefsOf returns the addressees of a type in a context, by the type's user category. Without the id of its addressee a
// context is for the laboratory. A critical result is for everyone who can act on it. A context without the laboratory
// may have no addressee.
func RefsOf(k Kind, c Context) []Ref {
	var refs []Ref
	critical := k.ID == CriticalReport
	if c.OrgID > 0 && (critical || k.UserCategory == "org") {
		refs = append(refs, Ref{RefOrg, c.OrgID})
	}
	if c.DoctorID > 0 && (critical || k.UserCategory == "doctor") {
		refs = append(refs, Ref{RefDoctor, c.DoctorID})
	}
	if c.LabUserID > 0 && (k.UserCategory == "lab_user" || k.UserCategory == "user") {
		refs = append(refs, Ref{RefUser, c.LabUserID})
	}
	if !c.WithoutLab && (critical || len(refs) == 0) {
		refs = append(refs, Ref{RefLab, c.LabID})
	}
	return refs
}

// Refs returns the addressees whose topics a viewer's devices subscribe to.
func (v Viewer) Refs() []Ref {
	switch v.Audience {
	case WholeLab:
		return []Ref{{RefLab, v.Lab.LabID()}, {RefUser, v.ID}}
	case OneOrganization:
		return []Ref{{RefOrg, v.ID}}
	case OneDoctor:
		return []Ref{{RefDoctor, v.ID}}
	case OneUser:
		return []Ref{{RefUser, v.ID}}
	default:
		return nil
	}
}
