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
	// Lock runs work while it holds the row of the report, and commits. An unknown report is session.ErrNoReport. work
	// may run again after a deadlock.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
	// Active returns the report's session that was not closed, expired or not; session.ErrNoActiveSession without one.
	Active(ctx context.Context, scope authn.LabScope, reportID int64) (session.Session, error)
	// Session returns a session, ended or not; session.ErrNoSession without one.
	Session(ctx context.Context, scope authn.LabScope, id int64) (session.Session, error)
	// Report returns a report; session.ErrNoReport without one.
	Report(ctx context.Context, scope authn.LabScope, id int64) (session.Report, error)
	// Templates returns those of the laboratory, then those of the platform.
	Templates(ctx context.Context, scope authn.LabScope) ([]session.Template, error)
	// Open returns the sessions of the reports that were not closed.
	Open(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]session.Session, error)
}

// Locked is a report whose row is held by the running transaction.
type Locked interface {
	Report() session.Report
	// Template returns a template of the laboratory or the platform; session.ErrNoTemplate without one.
	Template(ctx context.Context, id int64) (session.Template, error)
	// Origin returns the session that saved this Word file, as rows name it, nil for a file that none saved.
	Origin(ctx context.Context, word string) (*session.Session, error)
	// Active returns the report's session that was not closed, nil without one.
	Active(ctx context.Context) (*session.Session, error)
	Session(ctx context.Context, id int64) (session.Session, error)
	// Listed reports whether the author may edit reports by the platform's list of users; false also when the list
	// does not say anything. Of doctors it knows only that they exist.
	Listed(ctx context.Context, a session.Author) (bool, error)
	// Insert stores a new session and gives it its id; session.ErrSessionExists while another is not closed.
	Insert(ctx context.Context, s *session.Session) error
	Update(ctx context.Context, s *session.Session) error
	// Emit makes an event durable with the transaction.
	Emit(ctx context.Context, e session.Event) error
	// Log appends to the activity log.
	Log(ctx context.Context, e activitylog.Entry) error
	// Announce stores where a copy of a document will be, and from when on it may be deleted.
	Announce(ctx context.Context, u *session.Upload) error
	// Once runs work unless the request was answered before, and returns the id of the session that it opened.
	Once(ctx context.Context, request idempotency.Request, work func() (int64, error)) (id int64, replayed bool, err error)
}

// Files names objects of the store and signs links to them.
type Files interface {
	// Parse returns the key that a URL or a key names; an error for what is neither.
	Parse(text string) (string, error)
	URL(key string) string
	// Key returns the laboratory's key of a name.
	Key(scope authn.LabScope, name string) string
	// Size returns the bytes of an object that Link may sign a link to, -1 without one.
	Size(ctx context.Context, scope authn.LabScope, key string) (int64, error)
	// Link returns a download link of a file of the laboratory or of the platform.
	Link(ctx context.Context, scope authn.LabScope, key string) (string, error)
}

// Copier makes copies of documents that name their report.
type Copier interface {
	// Copy stores the document of size bytes at from as to; false: it is not one that can be copied.
	Copy(ctx context.Context, scope authn.LabScope, reportID int64, from string, size int64, to string) (bool, error)
}

// Tokens signs session tokens.
type Tokens interface {
	Mint(s *session.Session) (string, error)
}

// Counters counts outcomes.
type Counters interface {
	Created()
	Refused()
	Ended(reason session.EndReason)
}

// Deps is what the use cases work with. WakeRelay is called after an event was committed.
type Deps struct {
	Reports   Reports
	Files     Files
	Copier    Copier
	Tokens    Tokens
	Logins    Logins
	Clock     clock.Clock
	Lifetime  session.Lifetime
	LinkFor   time.Duration // how long a download link lasts
	NewID     func() string // of tokens and copies
	WakeRelay func()
	Counters  Counters
}

// UseCase opens, shows and ends sessions.
type UseCase struct{ d Deps }

// New returns the use cases.
func New(d Deps) *UseCase { return &UseCase{d} }

// now is the present time with the precision that rows have.
func (u *UseCase) now() time.Time { return u.d.Clock.Now().UTC().Truncate(time.Millisecond) }

// Closer is what Close needs of a locked report.
type Closer interface {
	Update(ctx context.Context, s *session.Session) error
	Emit(ctx context.Context, e session.Event) error
}

// Close ends the session within the transaction and tells the channel.
func Close(ctx context.Context, l Closer, s *session.Session, reason session.EndReason, now time.Time) error {
	if err := s.Close(reason, now); err != nil {
		return err
	}
	if err := l.Update(ctx, s); err != nil {
		return err
	}
	return l.Emit(ctx, session.Event{Name: session.Ended, Session: *s})
}
