package activitylog

import (
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Entry is one row of the log.
type Entry struct {
	Category Category
	Context  string // groups the codes of one area, like SAMPLE_RERUN
	ReportID int64  // 0: about no report
	BillID   int64  // 0: about no bill
	Actor    Actor
	Text     string // one sentence for people; no values of patients
	Meta     any    // becomes JSON; nil is NULL. Embed Change for the state before and after
	At       time.Time
}

// Actor is who did it: a user, or the platform with authn.PlatformUser.
type Actor struct {
	ID   int64
	Name string
}

// System is the actor of what nobody asked for: loops and sweepers.
var System = Actor{ID: authn.PlatformUser, Name: "system"}

// ActorOf returns the caller as an actor.
func ActorOf(p authn.Principal) Actor { return Actor{ID: p.ActorID(), Name: p.ActorName()} }

// Change is the documented part of every meta: the state before and after. Embed it in the meta's own struct.
type Change[S any] struct {
	Old S `json:"old"`
	New S `json:"new"`
}

// maxName is the width of labUserName, in characters.
const maxName = 255

// storedName is the name as the column takes it. A strange name must not fail the change that is being logged.
func (a Actor) storedName() string {
	name := []rune(strings.ToValidUTF8(a.Name, "\uFFFD"))
	return string(name[:min(len(name), maxName)])
}
