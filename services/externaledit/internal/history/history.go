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
	// Holding returns the newest save of the report that has these files; session.ErrNoRevision without one.
	Holding(ctx context.Context, scope authn.LabScope, reportID int64, f session.Files) (session.Revision, error)
	// Lock runs work in a transaction that locks the row of the report, and commits. After a deadlock, work runs again.
	Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(Locked) error) error
}

// Locked is a report whose row the running transaction has locked.
type Locked interface {
	Appender
	Report() session.Report
	Active(ctx context.Context) (*session.Session, error)
	Session(ctx context.Context, id int64) (session.Session, error)
	// Revision returns a save of the report by its id; session.ErrNoRevision without one.
	Revision(ctx context.Context, id int64) (session.Revision, error)
	// Holding returns the newest save of the report that has these files.
	Holding(ctx context.Context, f session.Files) (session.Revision, error)
	// Withholds reports whether the platform's list of users denies the permission: it has permissions of the user without
	// this one, or it lists users of the laboratory but no longer this user.
	Withholds(ctx context.Context, userID int64, permission string) (bool, error)
	Log(ctx context.Context, e activitylog.Entry) error
}

// Logins checks logins again.
type Logins interface {
	// MayRestore reports whether the login still belongs to the person and may restore. It returns an error if that cannot
	// be checked at present.
	MayRestore(ctx context.Context, scope authn.LabScope, login config.Secret, by session.Author) (bool, error)
}

// Counters counts restored saves and ended sessions.
type Counters interface {
	Restored()
	Ended(reason session.EndReason)
}

// Deps are the dependencies of the use cases. WakeRelay is called after an event was committed.
type Deps struct {
	Reports   Reports
	Logins    Logins
	Clock     clock.Clock
	WakeRelay func()
	Counters  Counters
}

// UseCase lists and restores revisions.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

// List returns a page of the report's revisions, the newest first, and the id of the one whose files are linked. The id
// is 0 if none is. Of revisions that share the linked files, it is the newest.
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

// Restoration is a request to restore an earlier save.
type Restoration struct {
	Scope                authn.LabScope
	ReportID, RevisionID int64
	By                   session.Author
	Login                config.Secret // empty if the user has a token, which cannot be withdrawn
	GlobalAdmin          bool          // has all permissions, whatever the list of users contains
}

// ErrNotAllowed is returned for a login without the permission.
var ErrNotAllowed = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
	"Restoring an earlier save needs the permission report_edit_takeover; ask an administrator of the laboratory")

// Restored is the save whose files are linked after a restoration.
type Restored struct {
	session.Revision

	Warnings []string // points that the author has to check in the document
}

// Restore links the files of an earlier save again, as a new revision. It changes nothing if they are linked already.
// Errors: NotFound; Forbidden; Conflict while a session is active, after the report was signed or dismissed, or if the
// save is of another patient.
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

// allowed checks under the lock whether the login may restore, because the lock may have been waited for.
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

// makeWay closes a session that has expired. It returns an error while a session is active.
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
	if err := s.CheckPatient(); err != nil {
		return Restored{}, false, err
	}
	before := l.Report().Files
	if before == earlier.Files() {
		newest, err := l.Holding(ctx, before)
		return Restored{newest, s.Warnings()}, false, err
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

// meta is the meta of a restoration in the activity log.
type meta struct {
	RevisionID   int64 `json:"revision_id"`
	RestoredFrom int64 `json:"restored_from"`
	activitylog.Change[pair]
}

type pair struct {
	Word string `json:"word_file_path"`
	PDF  string `json:"pdf_file_path"`
}
