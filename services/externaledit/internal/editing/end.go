package editing

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// End closes the session for its author. It is idempotent, because the response to the first call may have been lost.
// Errors: NotFound, and Forbidden for all other users.
func (u *UseCase) End(ctx context.Context, scope authn.LabScope, id int64, by session.Author) error {
	s, err := u.d.Reports.Session(ctx, scope, id)
	if err != nil {
		return err
	}
	if !s.Author.Is(by) {
		return session.ErrNotAuthor
	}
	if s.End != session.Active {
		return nil
	}
	return u.end(ctx, scope, &s, session.ByAuthor, nil)
}

// Termination is a request to end any user's session.
type Termination struct {
	Scope authn.LabScope
	ID    int64 // session id
	By    session.Author
}

// Terminate closes any user's session on behalf of an administrator, for example because its author's computer failed.
// The activity log records who did it. Ending an ended session changes nothing. Errors: NotFound.
func (u *UseCase) Terminate(ctx context.Context, in Termination) error {
	s, err := u.d.Reports.Session(ctx, in.Scope, in.ID)
	if err != nil || s.End != session.Active {
		return err
	}
	return u.end(ctx, in.Scope, &s, session.ByAdmin, func(l Locked, now time.Time) error {
		return l.Log(ctx, activitylog.Entry{
			Category: activitylog.ExternalEditEnded, Actor: in.By.Actor(), At: now,
			Text: "External edit session ended",
			Meta: activitylog.Change[holder]{Old: holder{s.ID, s.Author.ID, s.Author.Name}},
		})
	})
}

// end closes the session, unless it has ended already. audit, which may be nil, logs the action of an administrator. A
// session that has expired is closed as expired.
func (u *UseCase) end(
	ctx context.Context, scope authn.LabScope, s *session.Session, reason session.EndReason,
	audit func(Locked, time.Time) error,
) error {
	id, closed := s.ID, false
	err := u.d.Reports.Lock(ctx, scope, s.ReportID, func(l Locked) (err error) {
		now := u.now()
		if *s, err = l.Session(ctx, id); err != nil {
			return err
		}
		closed = s.End == session.Active
		switch {
		case !closed:
			return nil
		case s.HasExpired(now):
			return Close(ctx, l, s, session.Expired, now)
		}
		if err := Close(ctx, l, s, reason, now); err != nil || audit == nil {
			return err
		}
		return audit(l, now)
	})
	if err != nil || !closed {
		return err
	}
	u.d.WakeRelay()
	u.d.Counters.Ended(s.End)
	return nil
}
