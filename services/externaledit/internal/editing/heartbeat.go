package editing

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Heartbeat keeps the session alive and returns when it expires now, with a token that is good until then. Errors:
// NotFound, Forbidden for a session that has ended or another token.
func (u *UseCase) Heartbeat(
	ctx context.Context, scope authn.LabScope, grant session.Grant, id int64,
) (time.Time, string, error) {
	s, err := u.d.Reports.Session(ctx, scope, id)
	if err != nil {
		return time.Time{}, "", err
	}
	err = u.d.Reports.Lock(ctx, scope, s.ReportID, func(l Locked) error {
		now := u.now()
		if s, err = l.Session(ctx, id); err != nil {
			return err
		}
		if err := grant.Check(&s, now); err != nil {
			return err
		}
		s.Extend(now, u.d.TTL)
		return l.Update(ctx, &s)
	})
	if err != nil {
		return time.Time{}, "", err
	}
	token, err := u.d.Tokens.Mint(&s)
	return s.ExpiresAt, token, err
}
