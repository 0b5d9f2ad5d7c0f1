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
	// Touch records that the upload is still in progress.
	Touch(ctx context.Context, scope authn.LabScope, uploadID int64) error
	// Revision returns the save of a session with this number; session.ErrNoRevision without one.
	Revision(ctx context.Context, scope authn.LabScope, sessionID, number int64) (session.Revision, error)
	// Lock runs work in a transaction that locks the row of the report, and commits. After a deadlock, work runs again.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
}

// Discards abandons uploads that must not be linked.
type Discards interface {
	// Abandon marks the upload so that it can no longer be linked, after waiting for a transaction that is linking it. It
	// returns false if the upload no longer exists, because it was linked or discarded.
	Abandon(ctx context.Context, scope authn.LabScope, uploadID int64) (bool, error)
	// Forget deletes the row of an abandoned upload after its files were deleted.
	Forget(ctx context.Context, scope authn.LabScope, uploadID int64) error
}

// Locked is a report whose row the running transaction has locked.
type Locked interface {
	history.Appender
	Report() session.Report
	Session(ctx context.Context, id int64) (session.Session, error)
	// Listed reports whether the platform's list of users permits the author to edit.
	Listed(ctx context.Context, a session.Author) (bool, error)
	// Announce stores the keys of an upload's files, and sets its id.
	Announce(ctx context.Context, u *session.Upload) error
	// Take deletes the row of an upload that becomes a revision. It returns false if the upload was abandoned.
	Take(ctx context.Context, uploadID int64) (bool, error)
	// Latest returns the linked save of the session; nil before the first.
	Latest(ctx context.Context, s *session.Session) (*session.Revision, error)
}

// Files stores the documents.
type Files interface {
	// Key returns the key of a name in the laboratory's folder.
	Key(scope authn.LabScope, name string) string
	URL(key string) string
	// Put stores the content of source and returns its size. After an error, the object may or may not be stored.
	Put(ctx context.Context, scope authn.LabScope, key, contentType string, source io.Reader) (int64, error)
	Open(ctx context.Context, scope authn.LabScope, key string, offset, length int64) (io.ReadCloser, error)
	// Delete removes an object and leftovers of an unfinished Put. A missing object is ignored.
	Delete(ctx context.Context, scope authn.LabScope, key string) error
}

// Limits rejects uploads beyond the rate limit.
type Limits interface {
	Upload(ctx context.Context, sessionID int64) error
}

// Outcomes of uploads, as metrics name them.
const (
	Linked     = "linked"
	Unchanged  = "unchanged"   // the Word document equals that of the linked save
	Overtaken  = "overtaken"   // a newer save was linked before this one
	Refused    = "refused"     // the files or the session were rejected
	Failed     = "failed"      // a store failed
	Vanished   = "vanished"    // the client disconnected
	LeftBehind = "left_behind" // files that could not be deleted at once
)

// Outcomes returns all outcomes.
func Outcomes() []string {
	return []string{Linked, Unchanged, Overtaken, Refused, Failed, Vanished, LeftBehind}
}

// Counters counts uploads, bytes and ended sessions.
type Counters interface {
	Uploaded(outcome string)
	Received(field string, bytes int64)
	Ended(reason session.EndReason)
}

// Deps are the dependencies of the use case. WakeRelay is called after an event was committed.
type Deps struct {
	Reports   Reports
	Files     Files
	Limits    Limits
	Logins    editing.Logins
	Clock     clock.Clock
	Lifetime  session.Lifetime
	NewID     func() string // generates the part of keys that is unique to an upload
	WakeRelay func()
	Counters  Counters
}

// UseCase stores and links saves.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

func (u *UseCase) now() time.Time { return u.d.Clock.Now().UTC().Truncate(time.Millisecond) }
