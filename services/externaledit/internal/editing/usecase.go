package editing

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Reports reads sessions and locks reports.
type Reports interface {
	// Lock runs work in a transaction that locks the row of the report, and commits. It returns session.ErrNoReport for an
	// unknown report. After a deadlock, work runs again.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
	// Active returns the report's session that was not closed, even if it has expired; session.ErrNoActiveSession without
	// one.
	Active(ctx context.Context, scope authn.LabScope, reportID int64) (session.Session, error)
	// Session returns a session, ended or not; session.ErrNoSession without one.
	Session(ctx context.Context, scope authn.LabScope, id int64) (session.Session, error)
	// Report returns a report; session.ErrNoReport without one.
	Report(ctx context.Context, scope authn.LabScope, id int64) (session.Report, error)
	// Templates returns the templates of the laboratory, then those of the platform.
	Templates(ctx context.Context, scope authn.LabScope) ([]session.Template, error)
	// Open returns the sessions of the reports that were not closed, expired ones included.
	Open(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]session.Session, error)
}

// Locked is a report whose row the running transaction has locked.
type Locked interface {
	Report() session.Report
	// Template returns a template of the laboratory or the platform; session.ErrNoTemplate without one.
	Template(ctx context.Context, id int64) (session.Template, error)
	// Origin returns the session that saved this Word file, given by its URL; nil if no session did.
	Origin(ctx context.Context, word string) (*session.Session, error)
	// Active returns the report's session that was not closed; nil without one.
	Active(ctx context.Context) (*session.Session, error)
	Session(ctx context.Context, id int64) (session.Session, error)
	// Listed reports whether the platform's list of users permits the author to edit reports. It is false if the list has
	// no permissions of the author. Doctors in the list of doctors are permitted, referring doctors only for reports of
	// their own bills.
	Listed(ctx context.Context, a session.Author) (bool, error)
	// Insert stores a new session and sets its id. It returns session.ErrSessionExists while another session is not
	// closed.
	Insert(ctx context.Context, s *session.Session) error
	Update(ctx context.Context, s *session.Session) error
	// Emit writes an event to the outbox in the transaction.
	Emit(ctx context.Context, e session.Event) error
	// Log appends to the activity log.
	Log(ctx context.Context, e activitylog.Entry) error
	// Announce stores the keys of a copy of a document, and the time from which it may be deleted.
	Announce(ctx context.Context, u *session.Upload) error
	// Once runs work unless the request was processed before. It returns the id of the session that the request opened.
	Once(ctx context.Context, request idempotency.Request, work func() (int64, error)) (id int64, replayed bool, err error)
}

// Files resolves object keys of the file store and signs links.
type Files interface {
	// Parse returns the key that a URL or a key names, or an error if text is neither.
	Parse(text string) (string, error)
	URL(key string) string
	// Key returns the key of a name in the laboratory's folder.
	Key(scope authn.LabScope, name string) string
	// Size returns the size in bytes of an object to which Link may sign a link; -1 if there is none.
	Size(ctx context.Context, scope authn.LabScope, key string) (int64, error)
	// Link returns a download link for a file of the laboratory or of the platform.
	Link(ctx context.Context, scope authn.LabScope, key string) (string, error)
}

// Copier copies documents and adds the report's id to the copy.
type Copier interface {
	// Copy stores a copy of the document of size bytes at key from as key to. It returns false if the file cannot be
	// copied.
	Copy(ctx context.Context, scope authn.LabScope, reportID int64, from string, size int64, to string) (bool, error)
}

// Tokens signs session tokens.
type Tokens interface {
	Mint(s *session.Session) (string, error)
}

// Counters counts sessions by outcome.
type Counters interface {
	Created()
	Refused()
	Ended(reason session.EndReason)
}

// Deps are the dependencies of the use cases. WakeRelay is called after an event was committed.
type Deps struct {
	Reports   Reports
	Files     Files
	Copier    Copier
	Tokens    Tokens
	Logins    Logins
	Clock     clock.Clock
	Lifetime  session.Lifetime
	LinkFor   time.Duration // validity of a download link
	NewID     func() string // generates ids of tokens and copies
	WakeRelay func()
	Counters  Counters
}

// UseCase opens, shows, extends and ends sessions.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

// now returns the present time in milliseconds, the precision of the rows.
func (u *UseCase) now() time.Time { return u.d.Clock.Now().UTC().Truncate(time.Millisecond) }

// Closer is the part of a locked report that Close needs.
type Closer interface {
	Update(ctx context.Context, s *session.Session) error
	Emit(ctx context.Context, e session.Event) error
}

// Close ends the session within the transaction and emits an event to its channel.
func Close(ctx context.Context, l Closer, s *session.Session, reason session.EndReason, now time.Time) error {
	if err := s.Close(reason, now); err != nil {
		return err
	}
	if err := l.Update(ctx, s); err != nil {
		return err
	}
	return l.Emit(ctx, session.Event{Name: session.Ended, Session: *s})
}
