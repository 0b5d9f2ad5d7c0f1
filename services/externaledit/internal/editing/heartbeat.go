package editing

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Heartbeat extends the session. It returns the session and a token that is valid until the session expires. If the
// author may no longer edit, it ends the session. Errors: NotFound; Forbidden for an ended session or another session's
// token; Unauthenticated for an expired or revoked token.
func (u *UseCase) Heartbeat(
	ctx context.Context, scope authn.LabScope, grant session.Grant, id int64,
) (session.Session, string, error) {
	s, err := u.d.Reports.Session(ctx, scope, id)
	if err != nil {
		return session.Session{}, "", err
	}
	var now time.Time
	err = u.d.Reports.Lock(ctx, scope, s.ReportID, func(l Locked) error {
		now = u.now()
		if s, err = l.Session(ctx, id); err != nil {
			return err
		}
		if err := grant.Check(&s, now); err != nil {
			return err
		}
		return u.beat(ctx, l, &s, now)
	})
	if err != nil {
		return session.Session{}, "", err
	}
	if s.End != session.Active {
		u.d.WakeRelay()
		u.d.Counters.Ended(s.End)
		return session.Session{}, "", s.CheckActive(now)
	}
	token, err := u.d.Tokens.Mint(&s)
	return s, token, err
}

// beat extends the session, or ends it if the author lost the permission since it began.
func (u *UseCase) beat(ctx context.Context, l Locked, s *session.Session, now time.Time) error {
	withdrawn, err := Withdrawn(ctx, l, u.d.Logins, s)
	if err != nil {
		return err
	}
	if withdrawn {
		return Close(ctx, l, s, session.ByAdmin, now)
	}
	s.Extend(now, u.d.Lifetime)
	return l.Update(ctx, s)
}
