package history

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Reports reads revisions and locks reports.
type Reports interface {
	// Report returns the report; session.ErrNoReport without one.
	Report(ctx context.Context, scope authn.LabScope, id int64) (session.Report, error)
	// Revisions returns a page of the saves of all sessions of the report, the newest first.
	Revisions(ctx context.Context, scope authn.LabScope, reportID int64, p session.Page) ([]session.Revision, error)
	// Holding returns the newest save of the report with these files; session.ErrNoRevision without one.
	Holding(ctx context.Context, scope authn.LabScope, reportID int64, f session.Files) (session.Revision, error)
	// Lock runs work while it holds the row of the report, and commits. work may run again after a deadlock.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
}

// Locked is a report whose row is held by the running transaction.
type Locked interface {
	Appender
	Report() session.Report
	Active(ctx context.Context) (*session.Session, error)
	Session(ctx context.Context, id int64) (session.Session, error)
	// Revision returns a save of the report by its id; session.ErrNoRevision without one.
	Revision(ctx context.Context, id int64) (session.Revision, error)
	// Holding returns the newest save with these files.
	Holding(ctx context.Context, f session.Files) (session.Revision, error)
	// Withholds reports whether the platform's list of users has permissions of the user, and this one is not among them,
	// or lists users of the laboratory, and this one no more.
	Withholds(ctx context.Context, userID int64, permission string) (bool, error)
	Log(ctx context.Context, e activitylog.Entry) error
}

// Logins asks again for logins.
type Logins interface {
	// MayRestore reports whether the login is still that person's and may restore; an error when it cannot be asked now.
	MayRestore(ctx context.Context, scope authn.LabScope, login config.Secret, by session.Author) (bool, error)
}

// Counters counts outcomes.
type Counters interface {
	Restored()
	Ended(reason session.EndReason)
}

// Deps is what the use cases work with. WakeRelay is called after an event was committed.
type Deps struct {
	Reports   Reports
	Logins    Logins
	Clock     clock.Clock
	WakeRelay func()
	Counters  Counters
}

// UseCase lists and restores revisions.
type UseCase struct{ d Deps }

// New returns the use cases.
func New(d Deps) *UseCase { return &UseCase{d} }

// List returns a page of the report's revisions, the newest first, and the id of the one whose files are linked, 0 when
// none is: a restored one shares the files of another.
func (u *UseCase) List(
	ctx context.Context, scope authn.LabScope, reportID int64, p session.Page,
) (revisions []session.Revision, linked int64, err error) {
	report, err := u.d.Reports.Report(ctx, scope, reportID)
	if err != nil {
		return nil, 0, err
	}
	if revisions, err = u.d.Reports.Revisions(ctx, scope, reportID, p); err != nil || len(revisions) == 0 {
		return nil, 0, err
	}
	current, err := u.d.Reports.Holding(ctx, scope, reportID, report.Files)
	if err != nil && !errors.Is(err, session.ErrNoRevision) {
		return nil, 0, err
	}
	return revisions, current.ID, nil
}

// Restoration asks for an earlier save.
type Restoration struct {
	Scope                authn.LabScope
	ReportID, RevisionID int64
	By                   session.Author
	Login                config.Secret // empty: by a token, which cannot be withdrawn
	GlobalAdmin          bool          // holds all permissions, whatever the list of users says
}

// ErrNotAllowed refuses a login without the permission.
var ErrNotAllowed = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
	"Restoring an earlier save needs the permission report_edit_takeover; ask an administrator of the laboratory")

// Restored is the save that has the report's files now.
type Restored struct {
	session.Revision

	Warnings []string // what the author has to check in the document
}

// Restore links the files of an earlier save again, as a revision of its own. When they are linked
// already nothing changes. Errors: NotFound, Conflict while a session is active or after the report was signed.
func (u *UseCase) Restore(ctx context.Context, in Restoration) (Restored, error) {
	var restored Restored
	var expired, changed bool
	err := u.d.Reports.Lock(ctx, in.Scope, in.ReportID, func(l Locked) (err error) {
		now := u.d.Clock.Now().UTC().Truncate(time.Millisecond)
		if err := u.allowed(ctx, l, in); err != nil {
			return err
		}
		if err := l.Report().CheckLinkable(); err != nil {
			return err
		}
		if expired, err = u.makeWay(ctx, l, now); err != nil {
			return err
		}
		restored, changed, err = restore(ctx, l, in, now)
		return err
	})
	if err != nil {
		return Restored{}, err
	}
	u.d.WakeRelay()
	if expired {
		u.d.Counters.Ended(session.Expired)
	}
	if changed {
		u.d.Counters.Restored()
	}
	return restored, nil
}

// allowed asks again whether the login may restore: the row may have been waited for.
func (u *UseCase) allowed(ctx context.Context, l Locked, in Restoration) error {
	may := in.GlobalAdmin
	if !may {
		withheld, err := l.Withholds(ctx, in.By.ID, session.PermissionTakeOver)
		if err != nil {
			return err
		}
		may = !withheld
	}
	if may && in.Login.IsSet() {
		var err error
		if may, err = u.d.Logins.MayRestore(ctx, in.Scope, in.Login, in.By); err != nil {
			return err
		}
	}
	if !may {
		return ErrNotAllowed
	}
	return nil
}

// makeWay refuses while someone edits, and closes a session that expired.
func (u *UseCase) makeWay(ctx context.Context, l Locked, now time.Time) (expired bool, err error) {
	active, err := l.Active(ctx)
	switch {
	case err != nil || active == nil:
		return false, err
	case active.HasExpired(now):
		return true, editing.Close(ctx, l, active, session.Expired, now)
	}
	return false, session.Held(active)
}

func restore(ctx context.Context, l Locked, in Restoration, now time.Time) (Restored, bool, error) {
	earlier, err := l.Revision(ctx, in.RevisionID)
	if err != nil {
		return Restored{}, false, err
	}
	s, err := l.Session(ctx, earlier.SessionID)
	if err != nil {
		return Restored{}, false, err
	}
	before := l.Report().Files
	if before == earlier.Files() {
		newest, err := l.Holding(ctx, before)
		return Restored{newest, s.Warnings()}, false, err
	}
	if err := s.CheckPatient(); err != nil {
		return Restored{}, false, err
	}
	s.Reserved++
	again := session.Revision{SessionID: s.ID, Number: s.Reserved, Word: earlier.Word, PDF: earlier.PDF, UploadedBy: in.By,
		UploadedAt: now, RestoredFrom: earlier.ID}
	if _, err := Append(ctx, l, &s, &again, now); err != nil {
		return Restored{}, false, err
	}
	return Restored{again, s.Warnings()}, true, l.Log(ctx, activitylog.Entry{
		Category: activitylog.ExternalEditRestored, Actor: in.By.Actor(), At: now,
		Text: "Earlier save of the report restored",
		Meta: meta{RevisionID: again.ID, RestoredFrom: earlier.ID,
			Change: activitylog.Change[pair]{Old: pair(before), New: pair(again.Files())}},
	})
}

// meta is what the activity log keeps of a restoration.
type meta struct {
	RevisionID   int64 `json:"revision_id"`
	RestoredFrom int64 `json:"restored_from"`
	activitylog.Change[pair]
}

type pair struct {
	Word string `json:"word_file_path"`
	PDF  string `json:"pdf_file_path"`
}
