package session

import (
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Grant holds what a session token permits.
type Grant struct {
	SessionID int64
	ReportID  int64
	Author    Author
	TokenID   string
	Expired   bool // the token has expired; a heartbeat may have extended the session since
}

var (
	errOtherSession = apperr.New(apperr.Forbidden, "TOKEN_OF_ANOTHER_SESSION",
		"The token belongs to another session; use the one that this session was created with")
	errExpired = apperr.New(apperr.Unauthenticated, "TOKEN_EXPIRED",
		"The session token has expired. Ask for the session again to get a new one.")
	errRevoked = apperr.New(apperr.Unauthenticated, "TOKEN_REVOKED",
		"The session token was revoked. Ask for the session again to get a new one.")
)

// CheckSession rejects a token of another session.
func (g Grant) CheckSession(id int64) error {
	if g.SessionID != id {
		return errOtherSession
	}
	return nil
}

// CheckReport rejects a token of another report's session.
func (g Grant) CheckReport(id int64) error {
	if g.ReportID != id {
		return errOtherSession
	}
	return nil
}

// Check rejects a grant of another session, a session that is not active, and a token that was revoked or has expired.
func (g Grant) Check(s *Session, now time.Time) error {
	if g.SessionID != s.ID || g.ReportID != s.ReportID {
		return errOtherSession
	}
	if err := s.CheckActive(now); err != nil {
		return err
	}
	switch {
	case g.TokenID != s.TokenID:
		return errRevoked
	case g.Expired:
		return errExpired
	}
	return nil
}
