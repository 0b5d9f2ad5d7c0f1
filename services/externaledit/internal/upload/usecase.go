package upload

import (
	"context"
	"io"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Reports reads sessions and locks reports.
type Reports interface {
	Discards
	// Session returns a session, ended or not; session.ErrNoSession without one.
	Session(ctx context.Context, scope authn.LabScope, id int64) (session.Session, error)
	// Touch reports that the upload is still under way.
	Touch(ctx context.Context, scope authn.LabScope, uploadID int64) error
	// Revision returns a save of a session by its number; session.ErrNoRevision without one.
	Revision(ctx context.Context, scope authn.LabScope, sessionID, number int64) (session.Revision, error)
	// Lock runs work while it holds the row of the report, and commits. work may run again after a deadlock.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
}

// Discards takes back uploads that are not to be linked.
type Discards interface {
	// Abandon makes it impossible to link the upload from now on. It returns false when there is no such upload any
	// more: it was linked, or forgotten. It waits for a transaction that is linking it.
	Abandon(ctx context.Context, scope authn.LabScope, uploadID int64) (bool, error)
	// Forget deletes an abandoned upload, whose files were deleted.
	Forget(ctx context.Context, scope authn.LabScope, uploadID int64) error
}

// Locked is a report whose row is held by the running transaction.
type Locked interface {
	history.Appender
	Report() session.Report
	Session(ctx context.Context, id int64) (session.Session, error)
	// Listed reports whether the author has the permission to edit in the platform's list of users.
	Listed(ctx context.Context, a session.Author) (bool, error)
	// Announce stores where an upload will put its files, and gives it its id.
	Announce(ctx context.Context, u *session.Upload) error
	// Take deletes the upload that becomes a revision. It returns false for one that was abandoned.
	Take(ctx context.Context, uploadID int64) (bool, error)
	// Latest returns the linked save, nil before the first.
	Latest(ctx context.Context, s *session.Session) (*session.Revision, error)
}

// Files is the store of the documents.
type Files interface {
	// Key returns the laboratory's key of a name.
	Key(scope authn.LabScope, name string) string
	URL(key string) string
	// Put stores what source holds. After an error there is no object, or one that is not known of.
	Put(ctx context.Context, scope authn.LabScope, key, contentType string, source io.Reader) (int64, error)
	Open(ctx context.Context, scope authn.LabScope, key string, offset, length int64) (io.ReadCloser, error)
	// Delete removes an object and what an unfinished Put left of it; one that is not there is not an error.
	Delete(ctx context.Context, scope authn.LabScope, key string) error
}

// Limits refuses too many uploads.
type Limits interface {
	Upload(ctx context.Context, sessionID int64) error
}

// Outcomes of uploads that are counted.
const (
	Linked     = "linked"
	Unchanged  = "unchanged"   // the files of the linked save again
	Overtaken  = "overtaken"   // a newer save was linked meanwhile
	Refused    = "refused"     // the files or the session are not in order
	Failed     = "failed"      // a store failed
	Vanished   = "vanished"    // the client went away
	LeftBehind = "left_behind" // files that could not be deleted at once
)

// Outcomes lists them.
func Outcomes() []string {
	return []string{Linked, Unchanged, Overtaken, Refused, Failed, Vanished, LeftBehind}
}

// Counters counts outcomes and bytes.
type Counters interface {
	Uploaded(outcome string)
	Received(field string, bytes int64)
	Ended(reason session.EndReason)
}

// Deps is what the use case works with. WakeRelay is called after an event was committed.
type Deps struct {
	Reports   Reports
	Files     Files
	Limits    Limits
	Logins    editing.Logins
	Clock     clock.Clock
	Lifetime  session.Lifetime
	NewID     func() string // a part of keys that no two uploads share
	WakeRelay func()
	Counters  Counters
}

// UseCase takes saves.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

func (u *UseCase) now() time.Time { return u.d.Clock.Now().UTC().Truncate(time.Millisecond) }
