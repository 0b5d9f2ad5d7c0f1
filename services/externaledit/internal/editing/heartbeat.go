package editing

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Heartbeat prolongs the session; it returns the session and a token valid until its expiry. It ends the session of an
// author who may no longer edit. Errors: NotFound; Forbidden for an ended session or another token.
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

// beat extends the session, or ends it when the author's permission was withdrawn since it began.
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
