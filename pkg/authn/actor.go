package authn

import "strings"

// ActorKind names the table of an actor's id: doctor 77 and lab user 77 are different people.
type ActorKind string

// The kinds of actors: the session types, the platform itself, and instrument interfaces, whose id is the lab user that
// their token names, or 0.
const (
	ActorPlatform         ActorKind = "platform"
	ActorLabUser          ActorKind = ActorKind(LabUser)
	ActorDoctor           ActorKind = ActorKind(Doctor)
	ActorSupport          ActorKind = ActorKind(Support)
	ActorOrganization     ActorKind = ActorKind(Organization)
	ActorCollectionCenter ActorKind = ActorKind(CollectionCenter)
	ActorInstrument       ActorKind = "instrument"
)

// Actor identifies, in stored rows and logs, the user or program that did something.
type Actor struct {
	Kind ActorKind
	ID   int64
	Name string // at most 255 valid characters
}

// Platform is the actor of services, background loops and sweepers.
var Platform = Actor{Kind: ActorPlatform, ID: PlatformUser, Name: "system"}

// Actor returns the principal as an actor; every service is Platform.
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
	if p.Grant != nil { // the claims of a token that a service issued for a lab user
		a.Kind = ActorLabUser
	}
	return a
}

// LabUserID returns the id to store in a column of lab users: a lab user's own id, or the platform's. ok is
// false for every other actor, because its id would be mistaken for the lab user with the same number.
func (a Actor) LabUserID() (id int64, ok bool) {
	if a.Kind != ActorLabUser && a.Kind != ActorPlatform {
		return 0, false
	}
	return a.ID, true
}

// maxName is the width, in characters, of the name columns. A longer name is cut, so that it cannot make a
// write fail.
const maxName = 255

func cut(name string) string {
	characters := []rune(strings.ToValidUTF8(name, "\uFFFD"))
	return string(characters[:min(len(characters), maxName)])
}
