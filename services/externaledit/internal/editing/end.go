package editing

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// End closes the session for its author. Ending it again succeeds: the answer of the first time may have been lost.
// Errors: NotFound, Forbidden for everybody else.
func (u *UseCase) End(ctx context.Context, scope authn.LabScope, id, userID int64) error {
	s, err := u.d.Reports.Session(ctx, scope, id)
	if err != nil {
		return err
	}
	if s.Author.ID != userID {
		return session.ErrNotAuthor
	}
	if s.End != session.Active {
		return nil
	}
	var closed bool
	err = u.d.Reports.Lock(ctx, scope, s.ReportID, func(l Locked) error {
		now := u.now()
		if s, err = l.Session(ctx, id); err != nil {
			return err
		}
		closed = s.End == session.Active
		switch {
		case !closed:
			return nil
		case s.HasExpired(now):
			return u.closeExpired(ctx, l, &s, now)
		}
		return Close(ctx, l, &s, session.ByAuthor, now)
	})
	if err != nil || !closed {
		return err
	}
	u.d.Wake()
	u.d.Counters.Ended(s.End)
	return nil
}
