package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/token"
)

var (
	errNotAllowed = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
		"Editing reports needs the permission report_edit; ask an administrator of the laboratory")
	errNoAuthor = apperr.New(apperr.Forbidden, "NO_AUTHOR",
		"Only laboratory users and doctors can hold an editing session; log in as one of them")
	errNotAllowedToEnd = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
		"Ending another user's session needs the permission report_edit_takeover; ask an administrator of the laboratory")
	errStaffOnly = apperr.New(apperr.Forbidden, "STAFF_ONLY",
		"Only the staff of the laboratory sees editing sessions")
	errTokenRequired = apperr.New(apperr.Unauthenticated, "SESSION_TOKEN_REQUIRED",
		"Send the auth_token of the session as Authorization: Bearer; a user's login is not accepted here")
)

// Authenticator knows session tokens in addition to the platform's credentials.
type Authenticator struct {
	Users  grpcserver.Authenticator
	Tokens *token.Tokens
}

// Authenticate implements grpcserver.Authenticator. The holder of a session token is its author, without permissions.
func (a Authenticator) Authenticate(ctx context.Context, c authn.Credentials) (authn.Principal, error) {
	text, ok := token.FromHeader(c.Authorization)
	if !ok {
		return a.Users.Authenticate(ctx, c)
	}
	labID, grant, err := a.Tokens.Verify(text)
	if err != nil {
		return authn.Principal{}, err
	}
	p := authn.Principal{Kind: authn.Bearer, LabID: labID, FullName: grant.Author.Name, Grant: grant}
	if grant.Author.IsDoctor {
		p.DoctorID = grant.Author.ID
	} else {
		p.LabUserID = grant.Author.ID
	}
	return p, nil
}

// caller is who calls, and which laboratory that is about.
type caller struct {
	authn.Principal
	scope authn.LabScope
	grant *session.Grant // of a session token, nil for users
}

// callerOf is presented, and refuses the token of a session that has ended.
func (s *Server) callerOf(ctx context.Context) (caller, error) {
	c, err := presented(ctx)
	if err == nil && c.grant != nil {
		err = s.d.Editor.Admit(ctx, c.scope, *c.grant)
	}
	return c, err
}

// presented is what the credential says. Only the end of a session takes it at its word, unless it has expired: an end
// may be repeated.
func presented(ctx context.Context) (caller, error) {
	p := authn.FromContext(ctx)
	scope, err := p.Scope(0)
	c := caller{Principal: p, scope: scope}
	if g, ok := p.Grant.(session.Grant); ok {
		c.grant = &g
	}
	return c, err
}

// mayView admits the staff and the doctors of the laboratory, and the holder of a token of a session of the report. For
// a referring doctor there are only the reports of own bills.
func (s *Server) mayView(ctx context.Context, c caller, reportID int64) error {
	if c.grant != nil {
		return c.grant.CheckReport(reportID)
	}
	if doctorID, ok := c.ReferringDoctor(); ok {
		return s.d.Editor.Referred(ctx, c.scope, reportID, doctorID)
	}
	if c.IsStaff() || c.SessionType == authn.Doctor {
		return nil
	}
	return errStaffOnly
}

// mayTakeOver admits users who may end and undo the work of others.
func (c caller) mayTakeOver() bool {
	return c.SessionType == authn.LabUser && c.Has(session.PermissionTakeOver)
}

// mayEdit admits users and doctors who may edit reports. A session's own token opens no other.
func (c caller) mayEdit() error {
	switch {
	case c.grant != nil, !c.Has(session.PermissionEdit) && !c.Has(session.PermissionTakeOver):
		return errNotAllowed
	case c.author().ID == 0:
		return errNoAuthor
	}
	return nil
}

// author is the caller as the author of a session, the zero Author for who can be none: support has numbers of another
// table.
func (c caller) author() session.Author {
	if c.grant != nil {
		return c.grant.Author
	}
	a := c.Actor()
	if a.Kind != authn.ActorLabUser && a.Kind != authn.ActorDoctor {
		return session.Author{}
	}
	return session.Author{ID: a.ID, Name: a.Name, IsDoctor: a.Kind == authn.ActorDoctor}
}

// isAuthor reports whether the caller may have the session's token.
func (c caller) isAuthor(s *session.Session) bool {
	if c.grant != nil {
		return c.grant.SessionID == s.ID
	}
	by := c.author()
	return by.ID != 0 && by.Is(s.Author)
}

// holder returns the grant of the session token that the operation needs.
func (s *Server) holder(ctx context.Context, sessionID int64) (caller, session.Grant, error) {
	c, err := s.callerOf(ctx)
	if c.grant == nil {
		return c, session.Grant{}, errTokenRequired
	}
	if err != nil {
		return c, session.Grant{}, err
	}
	return c, *c.grant, c.grant.CheckSession(sessionID)
}
