package editing

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Show returns the report's active session, or session.ErrNoActiveSession. It closes the session if it has expired.
func (u *UseCase) Show(ctx context.Context, scope authn.LabScope, reportID int64) (session.Session, error) {
	s, err := u.d.Reports.Active(ctx, scope, reportID)
	if err != nil {
		return session.Session{}, err
	}
	if now := u.now(); s.HasExpired(now) {
		if err := u.CloseExpired(ctx, scope, reportID); err != nil {
			return session.Session{}, err
		}
		return session.Session{}, session.ErrNoActiveSession
	}
	return s, nil
}

// Templates returns the templates with which a report without a save may begin.
func (u *UseCase) Templates(ctx context.Context, scope authn.LabScope) ([]session.Template, error) {
	return u.d.Reports.Templates(ctx, scope)
}

// Admit rejects a token that has expired or was revoked, and the token of a session that has ended.
func (u *UseCase) Admit(ctx context.Context, scope authn.LabScope, grant session.Grant) error {
	s, err := u.d.Reports.Session(ctx, scope, grant.SessionID)
	if errors.Is(err, session.ErrNoSession) {
		return session.ErrInactive
	}
	if err != nil {
		return err
	}
	return grant.Check(&s, u.now())
}

// Referred returns session.ErrNoReport unless the report's bill is assigned to the doctor.
func (u *UseCase) Referred(ctx context.Context, scope authn.LabScope, reportID, doctorID int64) error {
	r, err := u.d.Reports.Report(ctx, scope, reportID)
	if err == nil && r.DoctorID != doctorID {
		return session.ErrNoReport
	}
	return err
}

// CloseExpired ends the report's session if it has expired.
func (u *UseCase) CloseExpired(ctx context.Context, scope authn.LabScope, reportID int64) error {
	closed := false
	err := u.d.Reports.Lock(ctx, scope, reportID, func(l Locked) error {
		closed = false
		now := u.now()
		s, err := l.Active(ctx)
		if err != nil || s == nil || !s.HasExpired(now) {
			return err
		}
		closed = true
		return Close(ctx, l, s, session.Expired, now)
	})
	if err == nil && closed {
		u.d.WakeRelay()
		u.d.Counters.Ended(session.Expired)
	}
	return err
}

// Held returns the active sessions of the reports.
func (u *UseCase) Held(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]session.Session, error) {
	sessions, err := u.d.Reports.Open(ctx, scope, reportIDs)
	if err != nil {
		return nil, err
	}
	return activeOnly(sessions, u.now()), nil
}

func activeOnly(sessions []session.Session, now time.Time) []session.Session {
	var active []session.Session
	for _, s := range sessions {
		if s.IsActive(now) {
			active = append(active, s)
		}
	}
	return active
}

// Renew replaces the login that the session keeps by the author's present one, because the login that opened the
// session ends with a sign-out.
func (u *UseCase) Renew(ctx context.Context, scope authn.LabScope, s *session.Session, login []byte) error {
	return u.d.Reports.Lock(ctx, scope, s.ReportID, func(l Locked) error {
		active, err := l.Active(ctx)
		if err != nil || active == nil || active.ID != s.ID {
			return err
		}
		active.Login = login
		return l.Update(ctx, active)
	})
}

// Mint returns a token for the session. Callers must give it to the author only.
func (u *UseCase) Mint(s *session.Session) (string, error) { return u.d.Tokens.Mint(s) }
