package authn

import "strings"

// ActorKind tells of which table an actor's id is: a doctor's 77 is not lab user 77.
type ActorKind string

// The kinds of actors: those of sessions, the platform itself, and interfaces of instruments, which have no id.
const (
	ActorPlatform         ActorKind = "platform"
	ActorLabUser          ActorKind = ActorKind(LabUser)
	ActorDoctor           ActorKind = ActorKind(Doctor)
	ActorSupport          ActorKind = ActorKind(Support)
	ActorOrganization     ActorKind = ActorKind(Organization)
	ActorCollectionCenter ActorKind = ActorKind(CollectionCenter)
	ActorInstrument       ActorKind = "instrument"
)

// Actor is who does something, as it is stored and logged.
type Actor struct {
	Kind ActorKind
	ID   int64
	Name string // at most 255 valid characters
}

// Platform is the actor of services, loops and sweepers.
var Platform = Actor{Kind: ActorPlatform, ID: PlatformUser, Name: "system"}

// Actor returns who the caller is.
func (p Principal) Actor() Actor {
	if p.Kind == Service {
		return Platform
	}
	name := p.FullName
	if name == "" {
		name = p.Username
	}
	a := Actor{Kind: ActorKind(p.SessionType), Name: cut(name)}
	switch p.SessionType {
	case LabUser, Support:
		a.ID = p.LabUserID
	case Doctor:
		a.ID = p.DoctorID
	case Organization:
		a.ID = p.OrgID
	case CollectionCenter:
		a.ID = p.CCID
	default:
		a.Kind, a.ID = ActorInstrument, p.LabUserID
	}
	if p.Grant != nil { // a token that a service issues for a lab user
		a.Kind = ActorLabUser
	}
	return a
}

// LabUserID returns the id for a column of lab users: theirs, or the platform's. ok is false for everybody else, who
// would be taken for the lab user with the same number.
func (a Actor) LabUserID() (id int64, ok bool) {
	if a.Kind != ActorLabUser && a.Kind != ActorPlatform {
		return 0, false
	}
	return a.ID, true
}

// maxName is the width of the columns that take a name. A strange name must not fail what its owner does.
const maxName = 255

func cut(name string) string {
	characters := []rune(strings.ToValidUTF8(name, "\uFFFD"))
	return string(characters[:min(len(characters), maxName)])
}
